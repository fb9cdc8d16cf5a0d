import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { ApiParam, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { Audited } from '../../../web/auth/audit/audit.interceptor.js';
import { ApiRoutes } from '../../../web/auth/scopes.decorator.js';
import type { Scope } from '../../../web/contract/principal.js';
import { shownEnv, shownUrl } from '../../secrets/env-cipher.js';
import { configurationOf } from '../entity/revision-content.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import type { ProblemCode } from '../../../base/common/errors.js';
import { Answers } from '../../../web/rest/answers.decorator.js';
import { ProblemView } from '../../../web/rest/api-problems.decorator.js';

/** A controller of custom tools. @param path below `custom-tools` @param scope of routes without their own scope */
export const CustomToolRoutes = (path: string, scope: Scope): ClassDecorator =>
  applyDecorators(
    ApiRoutes(`api/v1/custom-tools${path}`, 'custom-tools', scope),
    Audited('name', async (modules, { name = '' }) => {
      const tool = await modules.get(CustomToolsRepository, { strict: false }).get(name);
      const { definitions, ...configuration } = configurationOf(tool);
      const approved = Object.fromEntries((definitions ?? []).map((each) => [each.name, each]));
      const url = tool.url && shownUrl(tool.url);
      return { status: tool.status, ...configuration, url, env: shownEnv(tool.env), approved };
    }),
  );

/** Documents the path parameter of routes below the name of a custom tool. */
export const ApiName = (example = 'log_summary'): MethodDecorator => ApiParam({ name: 'name', example });

/** Documents a route of one custom tool that answers 200. @param problems in addition to `not_found` */
export const ToolRoute = (
  type: Type,
  summary: string,
  description: string,
  ...problems: ProblemCode[]
): MethodDecorator =>
  applyDecorators(HttpCode(200), ApiName(), Answers(type, summary, description, 'not_found', ...problems));

/** Documents the 422 of routes that may ask for a grant. */
export const ApiNotGranted = (): MethodDecorator =>
  ApiResponse({
    status: 422,
    description: '`invalid_request`: a path that the tool may not be granted',
    content: { 'application/problem+json': { schema: { $ref: getSchemaPath(ProblemView) } } },
  });
