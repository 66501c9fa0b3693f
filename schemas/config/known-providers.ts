/** The wire formats; one row of services/providers/registry.ts each. */
export const protocolNames = [
  'openai', 'anthropic', 'gemini', 'vertex', 'bedrock', 'sandbox', 'bfl', 'fal', 'kling', 'luma', 'minimax',
  'replicate', 'runway', 'seedance', 'veo', 'wan'
] as const
export type Protocol = typeof protocolNames[number]

/** How an OpenAI-compatible service differs from the others, where data says it. */
export interface Differences {
  /** The names under which a chat request has its output limit: both where the server may know only one. */
  limitFields?: readonly ('max_tokens' | 'max_completion_tokens')[]
  /** Fields of chat requests that it refuses: dropped, and named in a response header. */
  refuses?: readonly string[]
  /** Its roles in place of OpenAI's. */
  roles?: Readonly<Record<string, string>>
  /** Whether it serves legacy completions. */
  completions?: boolean
  /** Whether it takes `stream_options.include_usage`. */
  streamUsage?: boolean
}

/** A hosted service that needs no configuration except a key. */
export interface KnownProvider {
  id: string
  protocol: Protocol
  /** Only for the protocol `openai`: `differs`, or a row of services/providers/openai/dialects.ts. */
  dialect: string
  differs?: Differences
  /** Null if each customer has a different one. `{region}` stands for the provider's region. */
  baseUrl: string | null
  /** Environment variables of the key; the first non-empty one counts. Empty: it has an identity instead. */
  keys: readonly string[]
  baseUrlVariable: string
  /** Environment variables of the region; the first non-empty one counts. */
  regionVariables?: readonly string[]
  /** Whether requests can be authorized without a key. */
  keyless?: true
  /** Environment variable with the customer's origin, and the path of the API. */
  endpoint?: { variable: string, path: string }
  /** Globs of this service's model names. */
  claims: readonly string[]
  /** Providers whose models it sells too, at prices of its own. */
  makers?: readonly string[]
  /** Whether every listed model can be called. */
  discover: boolean
  pair?: { key: string, secret: string }
  /** Its name in OpenTelemetry's conventions, if different from the id. */
  conventionalName?: string
  mediaOnly?: true
}

export const knownProviders: readonly KnownProvider[] = [
  row('openai', 'OPENAI', 'https://api.openai.com/v1',
    { dialect: 'openai', claims: ['gpt-*', 'o1*', 'o3*', 'o4*', 'chatgpt-*', 'ft:gpt-*'] }),
  row('anthropic', 'ANTHROPIC', 'https://api.anthropic.com/v1', { protocol: 'anthropic', claims: ['claude-*'] }),
  row('azure', 'AZURE_OPENAI', null, {
    dialect: 'azure',
    endpoint: { variable: 'AZURE_OPENAI_ENDPOINT', path: '/openai/v1' },
    conventionalName: 'azure.ai.openai',
    // Azure lists the models of the region, but only the customer's deployments can be called.
    discover: false
  }),
  row('openrouter', 'OPENROUTER', 'https://openrouter.ai/api/v1', { dialect: 'openrouter' }),
  row('groq', 'GROQ', 'https://api.groq.com/openai/v1', { dialect: 'groq' }),
  row('together', 'TOGETHER', 'https://api.together.ai/v1', { dialect: 'together' }),
  row('mistral', 'MISTRAL', 'https://api.mistral.ai/v1', {
    dialect: 'mistral',
    conventionalName: 'mistral_ai',
    claims: ['mistral-*', 'codestral-*', 'ministral-*', 'magistral-*', 'devstral-*', 'pixtral-*', 'open-mi*tral-*']
  }),
  row('deepseek', 'DEEPSEEK', 'https://api.deepseek.com', { dialect: 'deepseek', claims: ['deepseek-*'] }),
  row('xai', 'XAI', 'https://api.x.ai/v1', { dialect: 'xai', claims: ['grok-*'], conventionalName: 'x_ai' }),
  row('gemini', 'GEMINI', 'https://generativelanguage.googleapis.com/v1beta', {
    protocol: 'gemini',
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    claims: ['gemini-*', 'gemma-*'],
    conventionalName: 'gcp.gemini'
  }),
  // The address depends on the region.
  row('vertex', 'VERTEX', null, {
    protocol: 'vertex', keys: [], makers: ['gemini', 'anthropic'], conventionalName: 'gcp.vertex_ai'
  }),
  row('bedrock', 'BEDROCK', 'https://bedrock-runtime.{region}.amazonaws.com', {
    protocol: 'bedrock',
    keys: ['AWS_BEARER_TOKEN_BEDROCK'],
    baseUrlVariable: 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME',
    regionVariables: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
    keyless: true,
    claims: ['amazon.*', 'anthropic.*', '*.amazon.*', '*.anthropic.*'],
    conventionalName: 'aws.bedrock'
  }),
  row('fireworks', 'FIREWORKS', 'https://api.fireworks.ai/inference/v1', { dialect: 'fireworks', claims: ['accounts/fireworks/*'] }),
  row('cerebras', 'CEREBRAS', 'https://api.cerebras.ai/v1', { dialect: 'cerebras' }),
  // Perplexity publishes no list of models.
  row('perplexity', 'PERPLEXITY', 'https://api.perplexity.ai', { dialect: 'perplexity', claims: ['sonar', 'sonar-*'], discover: false }),
  // Sources: docs.api.nvidia.com, deepinfra.com/docs, platform.moonshot.ai/docs, huggingface.co/docs. Some of
  // their servers refuse fields they do not know.
  row('nvidia', 'NVIDIA', 'https://integrate.api.nvidia.com/v1', { differs: { limitFields: ['max_tokens'] } }),
  row('deepinfra', 'DEEPINFRA', 'https://api.deepinfra.com/v1/openai', { differs: { limitFields: ['max_tokens'] } }),
  row('moonshot', 'MOONSHOT', 'https://api.moonshot.ai/v1',
    { differs: { limitFields: ['max_tokens'] }, claims: ['kimi-*', 'moonshot-*'] }),
  row('huggingface', 'HUGGINGFACE', 'https://router.huggingface.co/v1', {
    differs: { limitFields: ['max_tokens'] },
    keys: ['HF_TOKEN', 'HUGGINGFACE_API_KEY', 'HUGGING_FACE_HUB_TOKEN']
  }),
  media('runway', 'RUNWAYML', 'https://api.dev.runwayml.com/v1', { keys: ['RUNWAYML_API_SECRET', 'RUNWAY_API_KEY'] }),
  // It has no list of names, but of prices.
  media('fal', 'FAL', 'https://queue.fal.run', { keys: ['FAL_KEY', 'FAL_API_KEY'], discover: true }),
  media('replicate', 'REPLICATE', 'https://api.replicate.com/v1',
    { keys: ['REPLICATE_API_TOKEN', 'REPLICATE_API_KEY'] }),
  media('bfl', 'BFL', 'https://api.bfl.ai/v1'),
  media('seedance', 'ARK', 'https://ark.ap-southeast.bytepluses.com/api/v3'),
  media('kling', 'KLING', 'https://api-singapore.klingai.com/v1', {
    keys: ['KLING_API_KEY', 'KLING_ACCESS_KEY'],
    pair: { key: 'KLING_ACCESS_KEY', secret: 'KLING_SECRET_KEY' }
  }),
  media('wan', 'DASHSCOPE', 'https://dashscope-intl.aliyuncs.com/api/v1'),
  media('minimax', 'MINIMAX', 'https://api.minimax.io/v2'),
  media('luma', 'LUMAAI', 'https://api.lumalabs.ai/dream-machine/v1',
    { keys: ['LUMAAI_API_KEY', 'LUMA_API_KEY', 'LUMA_AGENTS_API_KEY'] })
]

/** What `dialect` may be: the known services, and servers that run models. */
export const dialectNames: readonly string[] = [...new Set([
  ...knownProviders.filter(({ protocol }) => protocol === 'openai').map(({ dialect }) => dialect),
  'bedrock', 'gemini', 'vertex', 'litellm', 'vllm', 'sglang', 'llamacpp', 'ollama', 'lmstudio', 'compatible'
])]

/** A service for images or videos with its own protocol and without a list of models. */
function media (id: KnownProvider['id'] & Protocol, name: string, baseUrl: string, more: Partial<KnownProvider> = {}) {
  return row(id, name, baseUrl, { protocol: id, discover: false, mediaOnly: true, ...more })
}

function row (
  id: string, name: string, baseUrl: string | null, more: Partial<KnownProvider> = {}
): KnownProvider {
  return {
    id,
    protocol: 'openai',
    dialect: more.differs === undefined ? 'compatible' : id,
    baseUrl,
    keys: [`${name}_API_KEY`],
    baseUrlVariable: `${name}_BASE_URL`,
    claims: [],
    discover: true,
    ...more
  }
}
