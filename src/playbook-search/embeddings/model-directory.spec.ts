import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readModelDirectory } from './model-directory.js';

describe('readModelDirectory', () => {
  let folder: string;
  const write = (name: string, content: string): void => writeFileSync(join(folder, name), content);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'model-'));
    write('bge.onnx', 'weights');
    write('bge-tokenizer.json', '{}');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('finds the model and its tokenizer; what nothing is said about is as sentence transformers have it', async () => {
    const found = await readModelDirectory(folder);
    expect(found.model).toEqual({
      directory: folder,
      modelFile: join(folder, 'bge.onnx'),
      tokenizerFile: join(folder, 'bge-tokenizer.json'),
      pooling: 'mean',
      maxTokens: 512,
    });
    expect(found.prefixes).toEqual({ query: '', document: '' });
    expect(found.id).toMatch(/^onnx:[0-9a-f]{16}$/);
  });

  it('takes what toolkeeper.json says', async () => {
    const settings = { pooling: 'cls', queryPrefix: 'query: ', calibration: { floor: 0.3, cut: 0.6 } };
    write('toolkeeper.json', JSON.stringify(settings));
    const { model, prefixes, calibration } = await readModelDirectory(folder);
    expect(model.pooling).toBe('cls');
    expect(prefixes).toEqual({ query: 'query: ', document: '' });
    expect(calibration).toEqual({ floor: 0.3, cut: 0.6 });
  });

  it('has another id after any change of the vectors, and the same one after a change of the calibration', async () => {
    const before = (await readModelDirectory(folder)).id;
    write('toolkeeper.json', '{"calibration":{"floor":0.1,"cut":0.2}}');
    expect((await readModelDirectory(folder)).id).toBe(before);
    write('toolkeeper.json', '{"documentPrefix":"passage: "}');
    const prefixed = (await readModelDirectory(folder)).id;
    write('bge.onnx', 'other weights');
    expect(new Set([before, prefixed, (await readModelDirectory(folder)).id]).size).toBe(3);
  });

  it.each([
    ['[]x', 'is not a JSON object'],
    ['{"pooling":"max"}', 'pooling must be cls or mean'],
    ['{"maxTokens":1}', 'maxTokens must be an integer from 8 to 8192'],
    ['{"queryPrefix":1}', 'queryPrefix must be text'],
    ['{"calibration":{"floor":0.9,"cut":0.2}}', 'calibration must be {floor, cut}'],
    ['{"calibration":null}', 'calibration must be {floor, cut}'],
    ['{"prefix":"x"}', 'there is no prefix'],
  ])('refuses the settings %s', async (settings, reason) => {
    write('toolkeeper.json', settings);
    await expect(readModelDirectory(folder)).rejects.toThrow(reason);
  });

  it('says which file is missing or there twice', async () => {
    write('second.onnx', '');
    await expect(readModelDirectory(folder)).rejects.toThrow('exactly one file that ends in .onnx, not 2');
    await expect(readModelDirectory(join(folder, 'none'))).rejects.toMatchObject({
      trouble: 'misconfigured',
    });
  });
});
