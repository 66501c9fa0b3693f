import { defaultResource, resourceFromAttributes, type Resource } from '@opentelemetry/resources'

interface ResourceOptions {
  version: string
  /** `OTEL_SERVICE_NAME`, or null. */
  serviceName: string | null
  /** The unparsed `OTEL_RESOURCE_ATTRIBUTES`, or null. */
  attributes: string | null
}

/**
 * The sender of the traces. `OTEL_SERVICE_NAME` takes precedence over `service.name` in
 * `OTEL_RESOURCE_ATTRIBUTES`, and both over the gateway's default. `onError` receives the problem of invalid
 * attributes, which are then ignored.
 */
export function createResource (
  { version, serviceName, attributes }: ResourceOptions, onError: (problem: string) => void
): Resource {
  return defaultResource().merge(resourceFromAttributes({
    'service.name': 'tollgate',
    'service.version': version,
    ...attributes === null ? {} : readOrReport(attributes, onError),
    ...serviceName !== null && { 'service.name': serviceName }
  }))
}

function readOrReport (text: string, onError: (problem: string) => void): Record<string, string> {
  try {
    return readResourceAttributes(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    onError(error.message)
    return {}
  }
}

/**
 * Reads `key=value,key=value`, percent-encoded; all values are strings. Throws RangeError for anything else,
 * because the whole variable then counts as absent. Source: OpenTelemetry specification, Resource SDK,
 * "Specifying resource information via an environment variable", as @opentelemetry/resources 2.12.1 reads it.
 */
export function readResourceAttributes (text: string): Record<string, string> {
  const pairs = text.split(',').filter(pair => pair.trim() !== '').map(pair => {
    const [key = '', value, ...more] = pair.split('=').map(part => part.trim())
    if (key === '' || value === undefined || more.length > 0) {
      throw new RangeError('each item must be key=value, with "," and "=" inside of them percent-encoded')
    }
    return [decoded(key), decoded(value)] as const
  })
  return Object.fromEntries(pairs)
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new RangeError('a "%" must begin a percent-encoded byte of UTF-8')
  }
}
