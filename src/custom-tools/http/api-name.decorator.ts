import { ApiParam } from '@nestjs/swagger';

/** For routes below the name of a custom tool. */
export const ApiName = (example = 'log_summary'): MethodDecorator => ApiParam({ name: 'name', example });
