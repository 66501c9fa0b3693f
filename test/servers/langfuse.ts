import { attributesOf, type CollectedSpan } from './otlp-collector.ts'

/** An observation of Langfuse, as far as a gateway without prompts can fill it. */
interface Observation {
  type: string
  model: unknown
  parameters: Record<string, unknown>
  usage: Record<string, number>
  costUsd: unknown
  session: unknown
  environment: unknown
  level: string
  message: string | null
}

const types: Readonly<Record<string, string>> = {
  chat: 'GENERATION', text_completion: 'GENERATION', generate_content: 'GENERATION', embeddings: 'EMBEDDING'
}

/**
 * What Langfuse makes of a span. Source: langfuse.com/integrations/native/opentelemetry, "Property mapping",
 * and the mapping of its server, August 2026.
 */
export function readAsLangfuse (span: CollectedSpan, resource: Record<string, unknown>): Observation {
  const attributes = attributesOf(span)
  const parameters = Object.entries(attributes)
    .filter(([name]) => name.startsWith('gen_ai.request.') && name !== 'gen_ai.request.model')
    .map(([name, value]) => [name.replace('gen_ai.request.', ''), value])
  const count = (name: string) => Number(attributes[`gen_ai.usage.${name}`] ?? 0)
  const cached = count('cache_read.input_tokens')
  const reasoning = count('reasoning.output_tokens')
  return {
    type: types[String(attributes['gen_ai.operation.name'])] ?? 'SPAN',
    model: attributes['gen_ai.response.model'] ?? attributes['gen_ai.request.model'],
    parameters: Object.fromEntries(parameters),
    usage: {
      input: count('input_tokens') - cached,
      input_cached_tokens: cached,
      output: count('output_tokens') - reasoning,
      output_reasoning_tokens: reasoning
    },
    costUsd: attributes['gen_ai.usage.cost'],
    session: attributes['gen_ai.conversation.id'],
    environment: resource['deployment.environment.name'],
    level: span.status.code === 2 ? 'ERROR' : 'DEFAULT',
    message: span.status.message ?? null
  }
}
