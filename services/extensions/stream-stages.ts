import { ResponseOfChunks, asChunks } from '../providers/openai/whole-and-streamed.ts'
import { checkedPieces, copyOf, wholeCompletion } from './checks.ts'
import type { HookRunner, RunningPlugin } from './hook-runner.ts'
import { PluginError } from './plugin-error.ts'
import type { ChatCompletion, ChatCompletionChunk } from './types.ts'

type Chunk = ChatCompletionChunk
type Respond = (runner: HookRunner, running: RunningPlugin, given: ChatCompletion) => Promise<ChatCompletion>

/** One plugin that the chunks of a stream pass. */
interface Stage {
  take (chunk: Chunk): Promise<Chunk[]>
  /** What the stage still holds. */
  end (): Promise<Chunk[]>
}

const maxHeldBytes = 16 * 1024 * 1024

/** The plugins that the chunks of one stream pass, in order. The usage passes none of them. */
export class StreamStages {
  readonly #stages: readonly Stage[]

  constructor (runner: HookRunner, plugins: readonly RunningPlugin[], respond: Respond) {
    this.#stages = plugins.map(running => running.plugin.chunk === undefined
      ? holdingStage(runner, running, respond)
      : chunkStage(runner, running))
  }

  /** What is sent instead of a chunk of the provider. Throws PluginError. */
  async take (chunk: Chunk): Promise<Chunk[]> {
    return await this.#pass([chunk], 0)
  }

  /** What is sent at the end, before the usage. Throws PluginError. */
  async end (): Promise<Chunk[]> {
    const sent: Chunk[] = []
    for (const [at, stage] of this.#stages.entries()) {
      sent.push(...await this.#pass(await stage.end(), at + 1))
    }
    return sent
  }

  async #pass (chunks: Chunk[], from: number): Promise<Chunk[]> {
    let passing = chunks
    for (const stage of this.#stages.slice(from)) {
      const passed: Chunk[] = []
      for (const chunk of passing) passed.push(...await stage.take(chunk))
      passing = passed
    }
    return passing
  }
}

function chunkStage (runner: HookRunner, running: RunningPlugin): Stage {
  const { plugin, context } = running
  return {
    async take (chunk) {
      if (!runner.active.includes(running)) return [chunk]
      const result = await runner.run(running, 'chunk',
        () => plugin.chunk?.(copyOf(chunk), context),
        returned => checkedPieces(chunk, returned, runner.problemIn))
      return Array.isArray(result) ? result : [chunk]
    },
    end: async () => []
  }
}

/** Passes a whole response through a plugin that reads chunks alone. Throws PluginError. */
export async function asChunksThrough (
  runner: HookRunner, running: RunningPlugin, { usage, ...given }: ChatCompletion
): Promise<ChatCompletion> {
  const stage = chunkStage(runner, running)
  const whole = new ResponseOfChunks(false)
  for await (const chunk of asChunks<Chunk>(given)) {
    for (const passed of await stage.take(chunk)) whole.takeChunk(copyOf(passed))
  }
  const { choices } = wholeCompletion(whole.whole)
  const completion = { ...given, choices: given.choices.map(({ index }) => choiceOf(choices, index)) }
  return usage === undefined ? completion : { ...completion, usage }
}

/** The choice that is left, or an empty one if it was held back. */
function choiceOf (choices: ChatCompletion['choices'], index: number): ChatCompletion['choices'][number] {
  return choices.find(choice => choice.index === index) ??
    { index, message: { role: 'assistant', content: null, refusal: null }, finish_reason: 'stop', logprobs: null }
}

/** Holds a stream back for a plugin that reads whole responses alone. */
function holdingStage (runner: HookRunner, running: RunningPlugin, respond: Respond): Stage {
  const whole = new ResponseOfChunks(false)
  let bytes = 0
  return {
    async take (chunk) {
      bytes += JSON.stringify(chunk).length
      if (bytes > maxHeldBytes) throw tooLong(running.plugin.name)
      whole.takeChunk(copyOf(chunk))
      return []
    },
    async end () {
      if (bytes === 0) return []
      const completion = wholeCompletion(whole.whole)
      return await Array.fromAsync(asChunks<Chunk>(await respond(runner, running, completion)))
    }
  }
}

function tooLong (name: string): PluginError {
  return new PluginError(502, 'server_error',
    `The response is too long for the plugin \`${name}\`, which reads it whole.`, { code: 'plugin_failed' })
}
