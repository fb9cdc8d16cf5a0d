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

/** Reasons why a playbook is not in an answer, in the order of the checks. */
export const searchFilters = ['status', 'label', 'no_match', 'threshold', 'limit'] as const;
export type SearchFilter = (typeof searchFilters)[number];

/** Parameters of a search except `label.<key>`, which `SearchQuery` reads separately. */
export class SearchPlaybooksQuery {
  @Text(4_096, { example: 'pod OOMKilled, exit code 137' }) readonly query!: string;
  @OptionalNum({ minimum: 0, maximum: 1, example: 0.7, default: 0.7 }) readonly min_confidence!: number;
  @OptionalInt(1, 100, { example: 10, default: 10 }) readonly max_results!: number;
  @OptionalFlag({
    default: false,
    example: true,
    description: 'Also explain why each playbook was left out, or its confidence',
  })
  readonly explain!: boolean;
  @PlaybookId({
    required: false,
    example: 'oomkill-increase-memory',
    description: 'With explain: explain this playbook only. The search is the same',
  })
  readonly playbook_id?: string;
}

/** A playbook as an LLM reads it: only these four fields. */
export class PlaybookHitView {
  @Example('oomkill-increase-memory') readonly playbook_id!: string;
  @Example('1.2.0') readonly version!: string;
  @Example('The kernel kills a container because its working set reaches the memory limit.')
  readonly description!: string;
  @ApiProperty({ example: 0.91, minimum: 0, maximum: 1 }) readonly confidence!: number;
}

/** A playbook with the reason why it is in the answer or not. */
export class ExplainedPlaybookView {
  @Example('oomkill-increase-memory') readonly playbook_id!: string;
  @Example('1.2.0') readonly version!: string;
  @Example(true, 'Whether it is in the answer') readonly shown!: boolean;
  @ApiProperty({
    type: String,
    enum: [...searchFilters, null],
    nullable: true,
    example: null,
    description:
      'Why it was left out: its latest version is not active (status); its labels allow other values (label); it has ' +
      'nothing in common with the query (no_match); min_confidence (threshold); max_results (limit)',
  })
  readonly removed_by!: SearchFilter | null;
  @Example('Shown at rank 1') readonly reason!: string;
  @NullableNumber(0.91, 'As shown; null if it was not ranked') readonly confidence!: number | null;
  @NullableNumber(0.9144, 'Score by shared words, 0 to 1') readonly lexical!: number | null;
  @NullableNumber(null, 'Cosine of the embeddings, -1 to 1; null if there are none') readonly cosine!:
    number | null;
  @NullableNumber(0.9144, 'Combined score before calibration') readonly blended!: number | null;
  @NullableNumber(0.9144, 'The confidence before rounding') readonly calibrated!: number | null;
  @Texts(['oomkil', 'pod'], 'Shared terms, stemmed') readonly matched_terms!: readonly string[];
}

/** The explanation of a search, for authors of playbooks. */
export class SearchExplanationView {
  @Example('4.', 'Revision of the catalogue at this server; differs after each change')
  readonly catalogue_revision!: string;
  @Example(0.7) readonly min_confidence!: number;
  @Example(10) readonly max_results!: number;
  @TextMap({ environment: 'production' }, 'Labels as they were compared, with short keys in lower case')
  readonly labels!: Readonly<Record<string, string>>;
  @NullableText(null, 'Why the search was degraded, in one word')
  readonly degraded!: string | null;
  @ApiProperty({
    type: [ExplainedPlaybookView],
    description: 'Ranked playbooks, best first, then the others by id; at most 200',
  })
  readonly candidates!: readonly ExplainedPlaybookView[];
  @Example(46, 'Number of all candidates, beyond these 200') readonly total_candidates!: number;
}

/** The answer that an LLM gets from get_playbooks. */
export class PlaybookAnswerView {
  @ApiProperty({ type: [PlaybookHitView], description: 'By confidence, descending' })
  readonly playbooks!: readonly PlaybookHitView[];
  @Example(1, 'Number of playbooks in this answer') readonly total_results!: number;
  @ApiPropertyOptional({ type: SearchExplanationView, description: 'With explain=true' })
  readonly explanation?: SearchExplanationView;
}
