/** The form in which an upstream takes messages and tools. */
export interface PromptRules {
  /** Where they were read: public reports with the server's refusal, as owner/repository#number. */
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
  sources: ['peonist-ai/halogen-server#3', 'can1357/oh-my-pi#958', 'haru/redmine_ai_helper#244'],
  roles: { developer: 'system' },
  system: 'anywhere',
  callIds: null,
  needsParameters: false,
  refusesEmptyText: false
}

const upTo = (length: number): PromptRules['callIds'] => ({ taken: new RegExp(`^.{1,${length}}$`, 's'), length })

/** Call ids of OpenAI's Responses API. Source: openclaw/openclaw#25632. */
export const responseCallIds = upTo(64)

/** By dialect, or by what dialects have in common. */
export const promptRules = {
  usual,
  openai: { ...usual, sources: ['vercel/ai#5171', 'openclaw/openclaw#31934'], roles: {}, callIds: upTo(40) },
  /** Servers that run open models with the chat templates of their authors, and unknown servers. */
  templates: {
    ...usual,
    sources: [
      'vllm-project/vllm#41114', 'gptme/gptme#3779', 'can1357/oh-my-pi#958', 'ollama/ollama#17774',
      'art-from-the-machine/Mantella#625'
    ],
    system: 'one-first',
    needsParameters: true
  },
  mistral: {
    ...usual,
    sources: ['anomalyco/opencode#1680', 'karthink/gptel#1203', 'nearai/ironclaw#1241'],
    callIds: { taken: /^[a-zA-Z0-9]{9}$/, length: 9 }
  },
  /** Sources: xAI's 422, DeepSeek's 400. */
  schemas: {
    ...usual, sources: ['router-for-me/CLIProxyAPI#3439', 'deepseek-ai/DeepSeek-V3#874'], needsParameters: true
  },
  nvidia: {
    ...usual,
    sources: ['ogx-ai/ogx#1751', 'CherryHQ/cherry-studio#16155'],
    system: 'one-first',
    needsParameters: true,
    refusesEmptyText: true
  }
} satisfies Readonly<Record<string, PromptRules>>
