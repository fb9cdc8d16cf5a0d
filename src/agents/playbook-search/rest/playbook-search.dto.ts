import {
  Example,
  Texts,
  NullableNumber,
  NullableText,
  OptionalFlag,
  OptionalInt,
  OptionalNum,
  Text,
  TextMap,
} from '../../../web/rest/dto.js';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { PlaybookId } from '../../playbooks/playbook.validators.js';

/** Reasons that keep a playbook out of an answer, in the order in which it is tried. */
export const filters = ['status', 'label', 'no_match', 'threshold', 'limit'] as const;
export type SearchFilter = (typeof filters)[number];

/** Parameters of a search beside `label.<key>`, which `SearchQuery` takes out first. */
export class SearchPlaybooksQuery {
  @Text(4_096, { example: 'pod OOMKilled, exit code 137' }) readonly query!: string;
  @OptionalNum({ minimum: 0, maximum: 1, example: 0.7, default: 0.7 }) readonly min_confidence!: number;
  @OptionalInt(1, 100, { example: 10, default: 10 }) readonly max_results!: number;
  @OptionalFlag({
    default: false,
    example: true,
    description: 'Also answers what kept each playbook out, or how its confidence came about',
  })
  readonly explain!: boolean;
  @PlaybookId({
    required: false,
    example: 'oomkill-increase-memory',
    description: 'With explain: explains this playbook only. The search stays the same',
  })
  readonly playbook_id?: string;
}

/** One playbook as an LLM reads it: these four fields and no other. */
export class PlaybookHitView {
  @Example('oomkill-increase-memory') readonly playbook_id!: string;
  @Example('1.2.0') readonly version!: string;
  @Example('The kernel kills a container because its working set reaches the memory limit.')
  readonly description!: string;
  @ApiProperty({ example: 0.91, minimum: 0, maximum: 1 }) readonly confidence!: number;
}

export class ExplainedPlaybookView {
  @Example('oomkill-increase-memory') readonly playbook_id!: string;
  @Example('1.2.0') readonly version!: string;
  @Example(true, 'Whether it stands in the answer') readonly shown!: boolean;
  @ApiProperty({
    type: String,
    enum: [...filters, null],
    nullable: true,
    example: null,
    description:
      'What kept it out: its latest version is not active (status); a label of it allows other values (label); it ' +
      'has nothing in common with the query (no_match); min_confidence (threshold); max_results (limit)',
  })
  readonly removed_by!: SearchFilter | null;
  @Example('Shown at rank 1') readonly reason!: string;
  @NullableNumber(0.91, 'As shown; null: it was not ranked') readonly confidence!: number | null;
  @NullableNumber(0.9144, 'By shared words, 0 to 1') readonly lexical!: number | null;
  @NullableNumber(null, 'Of the embeddings, -1 to 1; null: none') readonly cosine!: number | null;
  @NullableNumber(0.9144, 'Both in one, before calibration') readonly blended!: number | null;
  @NullableNumber(0.9144, 'The confidence before it is rounded') readonly calibrated!: number | null;
  @Texts(['oomkil', 'pod'], 'As they are compared: stemmed') readonly matched_terms!: readonly string[];
}

export class SearchExplanationView {
  @Example('4.', 'Of the catalogue, as this server knows it: another one after every change')
  readonly catalogue_revision!: string;
  @Example(0.7) readonly min_confidence!: number;
  @Example(10) readonly max_results!: number;
  @TextMap({ environment: 'production' }, 'As they were compared: short keys, lower case')
  readonly labels!: Readonly<Record<string, string>>;
  @NullableText(null, 'Why the search was poorer than it should be, in one word')
  readonly degraded!: string | null;
  @ApiProperty({
    type: [ExplainedPlaybookView],
    description: 'Ranked playbooks, best first, then the others by id; at most 200',
  })
  readonly candidates!: readonly ExplainedPlaybookView[];
  @Example(46, 'How many there are, also beyond those 200') readonly total_candidates!: number;
}

/** The answer that an LLM gets from get_playbooks. */
export class PlaybookAnswerView {
  @ApiProperty({ type: [PlaybookHitView], description: 'By confidence, descending' })
  readonly playbooks!: readonly PlaybookHitView[];
  @Example(1, 'How many playbooks stand in this answer') readonly total_results!: number;
  @ApiPropertyOptional({ type: SearchExplanationView, description: 'With explain=true' })
  readonly explanation?: SearchExplanationView;
}
