import { asMarkdown, linksById } from './message-contents.js';
import { type ChatState, type Chunk, withChunk } from './ui-message.js';

const empty: ChatState = { messages: [], state: 'idle', error: null, usage: undefined };
const call = (toolCallId: string): Chunk => ({
  ...{ type: 'tool-input-available', toolCallId, toolName: 'find', input: { q: 1 } },
});
const after = (chunks: readonly Chunk[], before = empty): ChatState => chunks.reduce(withChunk, before);

const turn: readonly Chunk[] = [
  { type: 'start', messageId: 'a' },
  { type: 'start-step' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'I ' },
  { type: 'text-delta', id: 't', delta: 'look.' },
  call('1'),
  call('2'),
  {
    type: 'tool-output-available',
    toolCallId: '1',
    output: { executionId: 'e', status: 'success', result: [] },
  },
  { type: 'tool-approval-request', toolCallId: '2', approvalId: 'p' },
  { type: 'finish', messageMetadata: { state: 'waiting' } },
];

it('gives each call its own output, and each approval its own call', () => {
  const waiting = after(turn);
  expect(waiting.state).toBe('waiting');
  expect(waiting.messages[0]?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'I look.' },
    { toolCallId: '1', state: 'output-available', output: { executionId: 'e' } },
    { toolCallId: '2', state: 'approval-requested', approval: { id: 'p' } },
  ]);
  const decided = after([{ type: 'tool-approval-response', approvalId: 'p', approved: false }], waiting);
  expect(decided.messages[0]?.parts.slice(2)).toMatchObject([
    { state: 'output-available' },
    { state: 'approval-responded', approval: { id: 'p', approved: false } },
  ]);
});

it('begins a message anew that is streamed again', () => {
  const again = after(turn, after(turn));
  expect(again).toEqual(after(turn));
});

it('writes calls into the Markdown of a chat', () => {
  const text = asMarkdown(after(turn).messages);
  expect(text).toContain('- Called `find` with `{"q":1}`: success (execution `e`)');
  expect(text).toContain('I look.');
});

it('knows the ids that tools answered with, and no others', () => {
  const result = { data: [{ span_id: 's', trace_id: 't', execution_id: 'x' }, { span_id: 'lone' }] };
  const chunk = { type: 'tool-output-available', toolCallId: '1', output: { executionId: 'e', result } };
  expect([...linksById(after([...turn, chunk]).messages)]).toEqual([
    ['s', '/traces/t?span=s'],
    ['x', '/find?id=x'],
    ['t', '/find?id=t'],
    ['lone', '/find?id=lone'],
    ['e', '/executions/e'],
  ]);
});
