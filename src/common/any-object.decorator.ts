import { ApiProperty } from '@nestjs/swagger';

/** Documents a property that holds a JSON object of any shape. */
export const AnyObject = (options: {
  readonly example: object;
  readonly description?: string;
}): PropertyDecorator => ApiProperty({ type: 'object', additionalProperties: true, ...options });
