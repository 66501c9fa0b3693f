import type { PromptValues } from './prompt-values.ts'
import { samplePattern } from './sample-pattern.ts'
import { numberIn, type Schema } from './schema.ts'
import { isCommand, noCommand } from './unsafe-tools.ts'
import { truncate, wordsOf } from './words.ts'

/** A string with a schema's format, pattern or length; from the prompt if it is unconstrained. */
export function sampleString (schema: Schema, name: string, values: PromptValues, variant: number): string {
  const least = Math.min(numberIn(schema, 'minLength') ?? 0, maxCharacters)
  const most = Math.min(numberIn(schema, 'maxLength') ?? maxCharacters, maxCharacters)
  const format = formats.get(String(schema.format))
  if (format !== undefined) return format(values, variant)
  if (typeof schema.pattern === 'string') return samplePattern(schema.pattern, least)
  return fit(freeText(name, values) ?? placeholder(name, variant), least, most)
}

const maxCharacters = 10_000

const textNames = new Set([
  'body', 'content', 'description', 'input', 'keyword', 'message', 'note', 'prompt', 'q', 'query', 'question', 'search',
  'subject', 'task', 'text', 'title', 'topic'
])

function freeText (name: string, values: PromptValues): string | undefined {
  const words = wordsOf(name)
  if (words.includes('email')) return values.emails.shift()
  if (words.includes('url')) return values.urls.shift()
  if (words.includes('date')) return values.dates.shift()
  const quote = values.quotes.shift()
  if (quote !== undefined) return quote
  if (words.some(word => textNames.has(word)) && values.text !== '') return truncate(values.text, 500)
  return values.names.shift()
}

function placeholder (name: string, variant: number): string {
  if (isCommand(name)) return noCommand
  const text = `sample ${wordsOf(name).join(' ') || 'value'}`
  return variant === 0 ? text : `${text} ${variant + 1}`
}

function fit (text: string, least: number, most: number): string {
  const characters = [...text]
  if (characters.length > most) return characters.slice(0, most).join('')
  return text + '.'.repeat(Math.max(0, least - characters.length))
}

type Format = (values: PromptValues, variant: number) => string

const day = (variant: number): string => `2026-01-${String(1 + variant % 28).padStart(2, '0')}`
const second = (variant: number): string => `09:00:${String(variant % 60).padStart(2, '0')}`
const number = (variant: number, digits: number): string => String(variant + 1).padStart(digits, '0')

/** Formats of draft 2020-12, with the names and addresses reserved for examples (RFC 2606, 5737, 3849). */
const formats = new Map<string, Format>(Object.entries<Format>({
  date: ({ dates }, variant) => dates.shift() ?? day(variant),
  'date-time': ({ dates }, variant) => `${dates.shift() ?? day(variant)}T${second(variant)}Z`,
  time: (_, variant) => `${second(variant)}Z`,
  duration: (_, variant) => `PT${variant + 1}H`,
  email: ({ emails }, variant) => emails.shift() ?? `user${variant + 1}@example.com`,
  'idn-email': ({ emails }, variant) => emails.shift() ?? `user${variant + 1}@example.com`,
  hostname: (_, variant) => `host${variant + 1}.example.com`,
  'idn-hostname': (_, variant) => `host${variant + 1}.example.com`,
  ipv4: (_, variant) => `192.0.2.${1 + variant % 254}`,
  ipv6: (_, variant) => `2001:db8::${1 + variant % 9999}`,
  uri: ({ urls }, variant) => urls.shift() ?? `https://example.com/${variant + 1}`,
  url: ({ urls }, variant) => urls.shift() ?? `https://example.com/${variant + 1}`,
  iri: ({ urls }, variant) => urls.shift() ?? `https://example.com/${variant + 1}`,
  'uri-reference': (_, variant) => `/${variant + 1}`,
  'iri-reference': (_, variant) => `/${variant + 1}`,
  'uri-template': (_, variant) => `/${variant + 1}/{id}`,
  uuid: (_, variant) => `00000000-0000-4000-8000-${number(variant, 12)}`,
  'json-pointer': (_, variant) => `/${variant + 1}`,
  'relative-json-pointer': (_, variant) => `${variant + 1}`,
  regex: (_, variant) => `^[a-z]{${variant + 1}}$`,
  byte: (_, variant) => Buffer.from(number(variant, 3)).toString('base64')
}))
