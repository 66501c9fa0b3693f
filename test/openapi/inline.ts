type Json = Record<string, unknown>

/** An OpenAPI document with each component where it is used, without references; none may refer to itself. */
export function inlined<Document> (document: Document): Document {
  const { components } = document as { components?: Record<string, Json> }

  function inline (value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(inline)
    const { $ref, discriminator, ...rest } = value as Json
    if (typeof $ref === 'string') {
      const [kind = '', name = ''] = $ref.split('/').slice(-2)
      return inline(components?.[kind]?.[name])
    }
    const entries = Object.entries(rest).map(([key, child]) => [key, inline(child)])
    const members = Object.fromEntries(entries)
    // The mapping names components; without it a validator reads the values in the branches.
    if (discriminator === undefined) return members
    return { ...members, discriminator: withoutMapping(discriminator) }
  }

  return inline(document) as Document
}

function withoutMapping (discriminator: unknown): unknown {
  const { mapping: _mapping, ...rest } = discriminator as Json
  return rest
}
