/** The parameters that an upstream refuses, renames or bounds. */
export interface RequestRules {
  /** Where they were read: `package@version file`, or the title of a page. */
  sources: readonly string[]
  /** The day on which they were read. */
  read: string
  /** Fields it refuses: dropped, and named in a response header. */
  drop: readonly string[]
  rename: Readonly<Record<string, string>>
  /** Its own word for a value, by field; null: it refuses the value, so the field is dropped. */
  values: Readonly<Record<string, Readonly<Record<string, string | null>>>>
  /** The least and the most a number may be, by field. */
  bounds: Readonly<Record<string, readonly [number, number]>>
  /** Members in place of `reasoning_effort`, by its value; none: the field is dropped. */
  efforts: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  history: HistoryRules | null
  /** Where it takes the name of a conversation, by which its cache of prompts is found; null: nowhere. */
  conversation: { field: string } | { header: string } | null
  /** The most answers of one request; null: as many as it asks for. */
  maxChoices: number | null
  /** Whether answers can be constrained to a JSON schema; if not, a schema is an instruction. */
  takesSchemas: boolean
  /** Rules of some of its models; the first row that matches the model's name counts. */
  models: readonly ModelRules[]
}

export interface ModelRules {
  models: RegExp
  /** Fields these models refuse, except with their default values. */
  drop?: readonly string[]
  /** Fields they refuse only while they reason: not with `reasoning_effort: none`. */
  dropWhileReasoning?: readonly string[]
  roles?: Readonly<Record<string, string>>
  values?: RequestRules['values']
  bounds?: RequestRules['bounds']
  efforts?: RequestRules['efforts']
  /** Members for a request that forces a tool call, with which these models cannot think. */
  forced?: Readonly<Record<string, unknown>>
  /**
   * The efforts with which chat takes functions, null for none given; with others, its Responses API alone
   * does. Absent: any.
   */
  functionEfforts?: readonly (string | null)[]
  /** Whether the model knows phases of its messages. */
  phases?: boolean
}

/** What it accepts in messages that a client sends back. */
export interface HistoryRules {
  /** The members beside `role` and `content`, by role; others are removed. Absent: any. */
  members?: Readonly<Record<string, readonly string[]>>
  /** The field of past thoughts; null: they are removed. */
  thoughts: 'reasoning' | 'reasoning_content' | null
  /** The members of tool calls; others are removed. Absent: any. */
  calls?: readonly string[]
  /** Models that require the thoughts behind tool calls, and what stands for thoughts that are lost. */
  required?: { models: RegExp, standIn: string, everyTurn: boolean }
}

const none: RequestRules = {
  sources: [],
  read: '2026-11-21',
  drop: [],
  rename: {},
  values: {},
  bounds: {},
  efforts: {},
  history: null,
  conversation: null,
  maxChoices: null,
  takesSchemas: true,
  models: []
}

/** Fields for OpenAI's own service: servers with a fixed list of fields refuse them, others ignore them. */
const ownService = [
  'audio', 'metadata', 'modalities', 'moderation', 'prediction', 'prompt_cache_key', 'prompt_cache_options',
  'prompt_cache_retention', 'safety_identifier', 'service_tier', 'store', 'verbosity', 'web_search_options'
] as const

function ownServiceBut (...taken: readonly (typeof ownService)[number][]): string[] {
  return ownService.filter(name => !taken.includes(name))
}

const promptCacheKey = { field: 'prompt_cache_key' }
const effort = (value: string) => ({ reasoning_effort: value })
const thinking = (type: 'enabled' | 'disabled') => ({ thinking: { type } })
/** For servers that know low, medium and high. */
const threeEfforts = { minimal: effort('low'), xhigh: effort('high'), max: effort('high') }
const withoutEffort: ModelRules['drop'] = ['reasoning_effort']

const sampling = ['temperature', 'top_p', 'logprobs', 'top_logprobs', 'stop']
const penalties = ['presence_penalty', 'frequency_penalty']
const reasoning: ModelRules = {
  models: /^/, drop: [...penalties, 'logit_bias', ...sampling], roles: { system: 'developer' }
}
/** With an effort of none, they do not reason. */
const adjustable: ModelRules = { ...reasoning, drop: [...penalties, 'logit_bias'], dropWhileReasoning: sampling }
/**
 * Reasoning models of OpenAI; only 5.1 to 5.9 can do without reasoning. From 5.6 on, they reason unless the
 * request says otherwise. Functions: openai/openai-openapi#541, LibreChat#14355. Phases: openai@7.59.0
 * resources/responses, `EasyInputMessage`.
 */
const openaiModels: readonly ModelRules[] = [
  { ...adjustable, models: /^gpt-5\.[45]/, functionEfforts: ['none', null], phases: true },
  { ...adjustable, models: /^gpt-5\.[6-9]/, functionEfforts: ['none'], phases: true },
  { ...adjustable, models: /^gpt-5\.\d/ },
  { ...reasoning, models: /^gpt-([6-9]|[12]\d)/, functionEfforts: ['none'], phases: true },
  { ...reasoning, models: /^(o\d|gpt-5(?!-chat))/ },
  { models: /^(gpt-[34]|chatgpt-)/, drop: ['reasoning_effort', 'verbosity'] }
]

const xaiReasoning = { drop: [...penalties, 'stop'] }
const xaiModels: readonly ModelRules[] = [
  { models: /^grok-(2|3(?!-mini))|non-reasoning/, drop: withoutEffort },
  { models: /^grok-3-mini/, ...xaiReasoning, efforts: { ...threeEfforts, none: {}, medium: effort('high') } },
  // Their reasoning cannot be configured: an effort is an error, whatever its value.
  { models: /^grok-(4($|-)|4\.1|4\.20(?!.*multi-agent)|code|build)/, drop: [...xaiReasoning.drop, 'reasoning_effort'] },
  { models: /^grok-4\.3/, ...xaiReasoning, efforts: { minimal: effort('low'), max: effort('xhigh') } },
  { models: /^grok-4\.5/, ...xaiReasoning, efforts: { ...threeEfforts, none: {} } },
  { models: /^grok-/, ...xaiReasoning, efforts: { minimal: effort('low'), max: effort('xhigh'), none: {} } }
]

const groqModels: readonly ModelRules[] = [
  { models: /gpt-oss/, efforts: { ...threeEfforts, none: effort('low') } },
  { models: /qwen3\.8/, efforts: threeEfforts },
  {
    models: /qwen/,
    efforts: Object.fromEntries(['minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map(name => [name, effort('default')]))
  },
  { models: /^(llama|meta-llama|gemma|mixtral|moonshotai)/, drop: withoutEffort }
]

const mistralModels: readonly ModelRules[] = [
  { models: /^(codestral|ministral|mistral-code|mistral-large-(latest|2)|voxtral|devstral|pixtral|open-)/, drop: withoutEffort },
  { models: /^mistral-large-4/, efforts: { ...threeEfforts, none: {} } },
  { models: /^zai-glm/, efforts: { minimal: effort('low'), medium: effort('high'), xhigh: effort('max'), none: {} } },
  { models: /^/, efforts: { max: effort('xhigh') } }
]

const kimi = ['temperature', 'top_p', ...penalties]
const kimiSwitch = Object.fromEntries([
  ['none', thinking('disabled')] as const,
  ...['minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map(name => [name, thinking('enabled')] as const)
])
const moonshotModels: readonly ModelRules[] = [
  {
    models: /^kimi-k3/,
    drop: kimi,
    efforts: { none: {}, minimal: effort('low'), medium: effort('high'), xhigh: effort('max') }
  },
  { models: /^kimi-k2\.7/, drop: [...kimi, 'reasoning_effort'], values: { tool_choice: { required: null } } },
  { models: /^kimi-k2\.6/, drop: kimi, efforts: kimiSwitch, values: { tool_choice: { required: null } } },
  { models: /^kimi-k2\.5/, drop: kimi, efforts: kimiSwitch, forced: thinking('disabled') },
  { models: /^/, drop: withoutEffort, bounds: { temperature: [0, 1] } }
]

/** By dialect; one that is absent takes every parameter, or ignores those it does not know. */
export const requestRules = {
  none,
  // The API's own refusal of `stop`: huggingface/smolagents#1893, BerriAI/litellm#28662.
  openai: {
    ...none,
    sources: [
      '@ai-sdk/openai@4.0.118 src/openai-model-catalog.ts, src/chat/openai-chat-language-model.ts',
      'openai@7.57.0 resources/chat/completions/completions.d.ts'
    ],
    history: { thoughts: null, calls: ['id', 'type', 'function', 'custom'] },
    conversation: promptCacheKey,
    models: openaiModels
  },
  // `session_id` is the key of its sticky routing, with at most 256 characters.
  openrouter: {
    ...none,
    sources: ['@openrouter/sdk@1.3.19 esm/models/chatrequest.d.ts', 'openrouter.ai/docs, Prompt Caching'],
    conversation: { field: 'session_id' },
    models: [{ models: /^openai\//, roles: {} }]
  },
  groq: {
    ...none,
    sources: ['groq-sdk@1.6.0 resources/chat/completions.d.ts', 'console.groq.com/docs, OpenAI compatibility'],
    drop: ['logprobs', 'top_logprobs', 'logit_bias', ...ownServiceBut('service_tier')],
    values: { service_tier: { default: 'on_demand' } },
    maxChoices: 1,
    // An answer sent back with `reasoning_content` is refused: AstrBotDevs/AstrBot#5946.
    history: { thoughts: 'reasoning', members: { assistant: ['name', 'reasoning', 'tool_calls', 'function_call'] } },
    models: groqModels
  },
  together: {
    ...none,
    sources: ['together-ai@0.52.0 resources/chat/completions.d.ts'],
    drop: [...ownService],
    efforts: { ...threeEfforts, none: { reasoning: { enabled: false } } }
  },
  // Fields that are not listed are refused, in messages too: BerriAI/litellm#30835.
  mistral: {
    ...none,
    sources: [
      '@mistralai/mistralai@2.7.0 models/components/chatcompletionrequest.d.ts, assistantmessage.d.ts, usermessage.d.ts',
      '@ai-sdk/mistral@4.0.87 src/mistral-model-catalog.ts'
    ],
    drop: ['logit_bias', 'logprobs', 'top_logprobs', 'user', 'top_k', ...ownServiceBut('metadata', 'prediction', 'prompt_cache_key')],
    rename: { seed: 'random_seed' },
    conversation: promptCacheKey,
    values: { tool_choice: { required: 'any' } },
    bounds: { temperature: [0, 1.5] },
    history: {
      thoughts: null,
      members: { system: [], developer: [], user: [], assistant: ['tool_calls', 'prefix'], tool: ['tool_call_id', 'name'] }
    },
    models: mistralModels
  },
  // Forced tools: BerriAI/litellm#37470; schemas: llm-exe/llm-exe#662.
  deepseek: {
    ...none,
    sources: ['api-docs.deepseek.com, Thinking Mode, Create Chat Completion', '@ai-sdk/deepseek@3.0.56 src/chat'],
    drop: ['seed', 'logit_bias', ...ownService],
    takesSchemas: false,
    efforts: { none: thinking('disabled') },
    history: {
      thoughts: 'reasoning_content',
      required: { models: /^deepseek-(?!chat|coder)/, standIn: '', everyTurn: true }
    },
    models: [
      { models: /reasoner/, drop: ['logprobs', 'top_logprobs'], forced: thinking('disabled') },
      { models: /^deepseek-(?!chat|coder)/, forced: thinking('disabled') }
    ]
  },
  xai: {
    ...none,
    sources: [
      'docs.x.ai, Reasoning', 'docs.x.ai, Maximizing Cache Hits', '@ai-sdk/xai@5.0.12 src/supports-reasoning-effort.ts'
    ],
    // Only its Responses API reads `prompt_cache_key`.
    conversation: { header: 'x-grok-conv-id' },
    bounds: { top_logprobs: [0, 8] },
    models: xaiModels
  },
  // Fields that it does not know are refused, in messages too.
  gemini: {
    ...none,
    sources: ['ai.google.dev, OpenAI compatibility'],
    drop: ['frequency_penalty', 'logit_bias', 'top_k', ...ownServiceBut('modalities')],
    history: { thoughts: null, members: { assistant: ['name', 'tool_calls', 'function_call', 'extra_content'] } }
  },
  perplexity: {
    ...none,
    sources: ['@perplexity-ai/perplexity_ai@0.38.5 dist/generated/api.d.ts'],
    drop: ['logit_bias', 'seed', 'user', ...ownServiceBut('web_search_options')],
    efforts: { ...threeEfforts, minimal: effort('minimal'), none: {} }
  },
  fireworks: {
    ...none,
    sources: [
      '@ai-sdk/fireworks@3.0.62 src/fireworks-provider.ts', 'langchain-fireworks 1.7.1 middleware/prompt_caching.py'
    ],
    drop: ['audio', 'modalities', 'web_search_options'],
    conversation: { header: 'x-session-affinity' },
    efforts: { minimal: effort('low'), xhigh: effort('high') }
  },
  // Past thoughts under another name are refused: NousResearch/hermes-agent#45655.
  cerebras: {
    ...none,
    sources: ['@cerebras/cerebras_cloud_sdk@1.91.0 resources/chat/completions.d.ts'],
    drop: ownServiceBut('prediction', 'prompt_cache_key', 'service_tier'),
    efforts: threeEfforts,
    history: { thoughts: 'reasoning', members: { assistant: ['name', 'reasoning', 'tool_calls'] } },
    conversation: promptCacheKey
  },
  // Unlisted fields are refused: sipeed/picoclaw#1019.
  nvidia: { ...none, sources: ['docs.api.nvidia.com/nim/reference'], drop: [...ownService] },
  // A blank counts as thoughts, an empty text does not: theopenco/llmgateway#2093.
  moonshot: {
    ...none,
    sources: ['@ai-sdk/moonshotai@3.0.60 src/moonshotai-chat-language-model.ts', 'platform.kimi.ai/docs'],
    history: { thoughts: 'reasoning_content', required: { models: /^kimi-/, standIn: ' ', everyTurn: false } },
    conversation: promptCacheKey,
    models: moonshotModels
  }
} satisfies Readonly<Record<string, RequestRules>>
