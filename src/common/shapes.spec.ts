import { ApiProperty } from '@nestjs/swagger';
import { Problem } from './errors.js';
import { ShapePipe } from './shapes.js';

class ThingBody {
  @ApiProperty() readonly name!: string;
  @ApiProperty({ type: [String] }) readonly tags!: string[];
}

const problemsOf = (value: unknown): unknown => {
  try {
    return new ShapePipe().read(ThingBody, value);
  } catch (error) {
    return error instanceof Problem && error.details.errors?.map(({ pointer }) => pointer);
  }
};
const unknownFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, 1]));

describe('a shape', () => {
  it('names every wrong field of a body', () => {
    expect(problemsOf({ name: 1, a: 1, tags: ['x', 2] })).toEqual(['/a', '/name', '/tags/1']);
  });

  it('names the first one alone where a body has thousands of parts: the others are not looked for', () => {
    expect(problemsOf(unknownFields(3_000))).toHaveLength(1);
    expect(problemsOf({ name: 'n', tags: Array(3_000).fill(1) })).toEqual(['/tags/0']);
    expect(problemsOf({ name: 'n', tags: Array(3_000).fill('x') })).toMatchObject({ name: 'n' });
  });
});
