/**
 * The control: compiles a schema and looks at an input with the options that a gateway once had, all on one thread.
 * Reads {schema, input} from its stdin, says when it begins, and ends when it is done.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { text } from 'node:stream/consumers';

const { schema, input } = JSON.parse(await text(process.stdin));
process.stdout.write('begins\n');
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  ownProperties: true,
  validateFormats: false,
  logger: false,
});
try {
  ajv.compile(schema)(input);
} catch {
  // A schema that is refused has cost what it has cost.
}
