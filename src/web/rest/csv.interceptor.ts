import { applyDecorators, type NestInterceptor, type Type, UseInterceptors } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map } from 'rxjs';
import { propertiesOf } from './dto.pipe.js';
import type { Page } from './page.js';

/** Formats a cell (RFC 4180). Text that a spreadsheet would read as a formula is prefixed. */
function cell(value: unknown): string {
  const text = textOf(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value.replace(/^[=+\-@\t\r]/, "'$&");
  return value instanceof Date ? value.toISOString() : JSON.stringify(value);
}

/** Answers a page as CSV to `format=csv` or `Accept: text/csv`, with a column for each member of the view. */
export function Csv(view: Type): MethodDecorator {
  const names = [...propertiesOf(view).keys()];
  const intercept: NestInterceptor<Page<object>, unknown>['intercept'] = (context, next) => {
    const { query, headers } = context.switchToHttp().getRequest<FastifyRequest>();
    const parameters = query as { format?: unknown };
    const { format = headers.accept?.includes('text/csv') ? 'csv' : 'json' } = parameters;
    // Removed, because the DTO does not know the field. Any other format is refused as an unknown field.
    if (format === 'csv' || format === 'json') delete parameters.format;
    if (format !== 'csv') return next.handle();
    const reply = context.switchToHttp().getResponse<FastifyReply>().type('text/csv; charset=utf-8');
    const rowOf = (cells: readonly string[]): string => `${cells.join(',')}\r\n`;
    return next.handle().pipe(
      map(({ data, nextCursor }) => {
        if (nextCursor) void reply.header('x-next-cursor', nextCursor);
        const rows = data.map((item) => rowOf(names.map((name) => cell(Reflect.get(item, name)))));
        return [rowOf(names), ...rows].join('');
      }),
    );
  };
  const format = { name: 'format', enum: ['json', 'csv'], required: false, example: 'json' };
  return applyDecorators(UseInterceptors({ intercept }), ApiQuery(format));
}
