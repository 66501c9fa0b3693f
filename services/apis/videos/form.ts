import { detectMediaType } from '../../media/file-types.ts'
import { objectOfForm, type FormPart } from '../../http/read-form.ts'
import { GatewayError } from '../../shared/errors.ts'

/** Fields that a form can only carry as text. */
const texts: Readonly<Record<string, (text: string) => unknown>> = {
  seed: text => /^-?\d{1,15}$/.test(text) ? Number(text) : text,
  audio: text => text === 'true' ? true : text === 'false' ? false : text
}

/** The JSON body that a form stands for: a file becomes a data URL. Throws GatewayError 400. */
export function videoFormToJson (parts: readonly FormPart[]): Record<string, unknown> {
  return objectOfForm(parts.map(({ name, value }) => {
    if (typeof value !== 'string') return { name, value: dataUrl(name, value) }
    // Encoders of forms write each line break as CRLF (HTML, "Constructing the entry list").
    const text = value.replaceAll('\r\n', '\n')
    return { name, value: (Object.hasOwn(texts, name) ? texts[name]?.(text) : undefined) ?? text }
  }))
}

function dataUrl (name: string, bytes: Buffer): string {
  const type = detectMediaType(bytes)
  if (type?.kind !== 'image') throw GatewayError.invalidValue(name, 'the file is not a PNG, JPEG, WebP or GIF')
  return `data:${type.mime};base64,${bytes.toString('base64')}`
}
