import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, isEvents, isSuccess, readEvents, type StreamPlace } from './remote-answer.js';

/** Pause before a stream is reopened, unless the server sets another one between the min and the max. */
const pauseMs = 1_000;
const minPauseMs = 100;
const maxPauseMs = 60_000;

/** The event streams of one session. A stream that ends early is resumed. */
export class EventStreams {
  /** Whether the stream of server-initiated messages is open. It may contain the answer to a request. */
  isListening = false;

  /** @param follow resumes a stream at a place */
  constructor(
    private readonly limits: Parameters<typeof readEvents>[1],
    private readonly follow: (place: StreamPlace, signal: AbortSignal) => Promise<Answer>,
  ) {}

  /** Reads the stream of an answer. @param isOver whether the answer was among its messages @returns its fault, if any */
  async read(
    first: Answer,
    onMessage: (text: string) => Promise<void>,
    isOver: () => boolean,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const place: StreamPlace = {};
    for (let stream = first; ; stream = await this.follow(place, signal)) {
      if (!isSuccess(stream) || !isEvents(stream)) {
        stream.body.destroy();
        return `It closed its stream of events, and answered ${stream.statusCode} to the request to go on`;
      }
      const fault = await this.readPart(stream, onMessage, signal, place);
      if (fault !== undefined || isOver() || !place.lastEventId) return fault;
      await pause(place, signal);
    }
  }

  /** Reads messages that the server sends outside of answers, until the server refuses such a stream. */
  async listen(
    open: (place: StreamPlace) => Promise<Answer>,
    onMessage: (text: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const place: StreamPlace = {};
    for (;;) {
      const response = await open(place);
      if (response.statusCode !== 200 || !isEvents(response)) return void response.body.destroy();
      this.isListening = true;
      const fault = await this.readPart(response, onMessage, signal, place);
      this.isListening = false;
      if (fault !== undefined) throw new Error(fault);
      await pause(place, signal);
    }
  }

  /** Reads one connection of a stream. An error is ignored if the stream can be resumed. @returns its fault, if any */
  private async readPart(
    stream: Answer,
    onMessage: (text: string) => Promise<void>,
    signal: AbortSignal,
    place: StreamPlace,
  ): Promise<string | undefined> {
    try {
      return await readEvents(stream, this.limits, onMessage, signal, place);
    } catch (error) {
      if (signal.aborted || !place.lastEventId) throw error;
      return undefined;
    }
  }
}

const pause = ({ retryMs = pauseMs }: StreamPlace, signal: AbortSignal): Promise<void> =>
  delay(Math.max(minPauseMs, Math.min(retryMs, maxPauseMs)), undefined, { signal });
