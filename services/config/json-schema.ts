import { GatewayFile } from '../../schemas/config/config.ts'

/** Returns the JSON Schema of `gateway.yaml` for editors, as the text of `gateway.schema.json`. */
export function configJsonSchema (): string {
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...GatewayFile }
  return `${JSON.stringify(schema, withoutDefaults, 2)}\n`
}

/** Takes keys with a default out of `required`: the gateway fills them in before it checks the file. */
function withoutDefaults (this: { properties?: object }, key: string, value: unknown): unknown {
  if (key !== 'required' || !Array.isArray(value)) return value
  const required = value.filter(name => !('default' in Reflect.get(this.properties ?? {}, name)))
  return required.length === 0 ? undefined : required
}
