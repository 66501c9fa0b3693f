/** The form in which an upstream takes messages and tools. */
export interface PromptRules {
  /** Where they were read: a public report, or the title of a page. */
  sources: readonly string[]
  /** Its names of roles, where they differ. */
  roles: Readonly<Record<string, string>>
  /** Whether system messages may stand anywhere, or chat templates take one, at the beginning. */
  system: 'anywhere' | 'one-first'
  /** The ids of tool calls that it takes, and the length of those that replace others; null: any. */
  callIds: { taken: RegExp, length: number } | null
  /** Whether it refuses functions without a schema of their parameters. */
  needsParameters: boolean
  /** Whether it refuses an empty text beside tool calls. */
  refusesEmptyText: boolean
}

const usual: PromptRules = {
  // `developer` means the same as `system`, and few servers have it.
  sources: ['pi#5117', 'pi#6238', 'PI-Desktop#30', 'oh-my-pi#843'],
  roles: { developer: 'system' },
  system: 'anywhere',
  callIds: null,
  needsParameters: false,
  refusesEmptyText: false
}

const upTo = (length: number): PromptRules['callIds'] => ({ taken: new RegExp(`^.{1,${length}}$`, 's'), length })

/** Call ids of OpenAI's Responses API. Source: openai@7.57.0 resources/responses, and its own refusals. */
export const responseCallIds = upTo(64)

/** By dialect, or by what dialects have in common. */
export const promptRules = {
  usual,
  openai: { ...usual, sources: ['vercel/ai#5171', 'openclaw#31934'], roles: {}, callIds: upTo(40) },
  /** Servers that run open models with the chat templates of their authors, and unknown servers. */
  templates: {
    ...usual, sources: ['vllm#41114', 'gptme#3779', 'oh-my-pi#958'], system: 'one-first', needsParameters: true
  },
  mistral: {
    ...usual, sources: ['opencode#1680', 'gptel#1203'], callIds: { taken: /^[a-zA-Z0-9]{9}$/, length: 9 }
  },
  /** Sources: xAI's 422, DeepSeek's 400. */
  schemas: { ...usual, sources: ['pi#8222', 'qwen-code#11956'], needsParameters: true },
  nvidia: {
    ...usual,
    sources: ['ogx#1751'],
    system: 'one-first',
    needsParameters: true,
    refusesEmptyText: true
  }
} satisfies Readonly<Record<string, PromptRules>>
