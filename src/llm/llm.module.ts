import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { LlmEndpoint } from './llm-endpoint.js';

/** The reason that a caller is told where there is no language model. */
export const noLlm =
  'No language model is configured: set LLM_BASE_URL and LLM_MODEL (and LLM_API_KEY where the endpoint wants a key)';

/** The language model of this server, if it has one. */
@Injectable()
export class Llm implements OnApplicationShutdown {
  readonly endpoint: LlmEndpoint | undefined;

  constructor(@Inject(APP_CONFIG) { llm }: AppConfig) {
    this.endpoint = llm && new LlmEndpoint(llm);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.endpoint?.close();
  }
}

@Module({ providers: [Llm], exports: [Llm] })
export class LlmModule {}
