import { ownMember } from '../../shared/json.ts'
import type { ImageSize } from '../provider-image.ts'
import { textPath, textExtent } from './bitmap-font.ts'
import { fnv1aHash } from './hash.ts'

const colours: Readonly<Record<string, string>> = {
  red: '0 80% 50%',
  orange: '28 90% 55%',
  yellow: '50 95% 55%',
  gold: '45 80% 50%',
  green: '130 60% 40%',
  cyan: '185 75% 50%',
  blue: '220 80% 50%',
  purple: '275 60% 50%',
  violet: '275 60% 50%',
  pink: '330 85% 70%',
  brown: '25 50% 35%',
  white: '0 0% 97%',
  grey: '0 0% 55%',
  gray: '0 0% 55%',
  black: '0 0% 8%'
}

const shapes: Readonly<Record<string, Shape>> = {
  circle: 'disc',
  ball: 'disc',
  sun: 'disc',
  moon: 'disc',
  planet: 'disc',
  square: 'box',
  box: 'box',
  cube: 'box',
  house: 'box',
  triangle: 'peak',
  mountain: 'peak',
  pyramid: 'peak',
  tree: 'peak',
  star: 'star'
}

type Shape = 'disc' | 'box' | 'peak' | 'star'

const maxLetters = 120
const lettersPerLine = 24
const maxShapes = 7

/** A deterministic image with the prompt's colours, shapes and text; images of one request differ. */
export function drawSvg (prompt: string, { width, height }: ImageSize, index: number): string {
  const random = randomFrom(prompt, index)
  const words = prompt.toLowerCase().match(/[a-z]+/g) ?? []
  const named = words.flatMap(word => ownMember(colours, word) ?? [])
  const [first = anyColour(random), second = anyColour(random), ...rest] = named
  // "A red circle on blue": the first colour is the foreground, the second the background.
  const [front, back] = named.length === 0 ? [second, first] : [first, second]
  const wanted = words.flatMap(word => ownMember(shapes, word) ?? ownMember(shapes, word.replace(/s$/, '')) ?? [])
  const drawn = wanted.length > 0 ? wanted.slice(0, maxShapes) : anyShapes(random)
  const parts = drawn.map((shape, at) => {
    const colour = at === 0 ? front : rest[at - 1] ?? anyColour(random)
    return drawShape(shape, { width, height }, random, colour)
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<defs><linearGradient id="g" x2="${random()}" y2="1"><stop stop-color="hsl(${commas(back)})"/>` +
    `<stop offset="1" stop-color="hsl(${commas(back)})" stop-opacity=".6"/></linearGradient></defs>` +
    '<rect width="100%" height="100%" fill="#fff"/><rect width="100%" height="100%" fill="url(#g)"/>' +
    `${parts.join('')}${caption(prompt, { width, height })}</svg>`
}

function randomFrom (prompt: string, index: number): () => number {
  let drawn = 0
  return () => fnv1aHash(prompt, String(index), String(drawn++)) / 2 ** 32
}

function anyColour (random: () => number): string {
  return `${Math.floor(random() * 360)} ${50 + Math.floor(random() * 40)}% ${35 + Math.floor(random() * 35)}%`
}

function anyShapes (random: () => number): Shape[] {
  const kinds = ['disc', 'box', 'peak', 'star'] as const
  return Array.from({ length: 3 + Math.floor(random() * 4) }, () => kinds[Math.floor(random() * 4)] ?? 'disc')
}

function drawShape (
  shape: Shape, { width, height }: ImageSize, random: () => number, colour: string
): string {
  const radius = Math.min(width, height) * (0.12 + random() * 0.16)
  const x = radius + random() * (width - 2 * radius)
  const y = radius + random() * (height * 0.75 - 2 * radius)
  const style = `fill="hsl(${commas(colour)})" fill-opacity=".9"`
  if (shape === 'disc') return `<circle cx="${x}" cy="${y}" r="${radius}" ${style}/>`
  if (shape === 'box') return `<rect x="${x - radius}" y="${y - radius}" width="${2 * radius}" height="${2 * radius}" ${style}/>`
  const corners = shape === 'peak' ? 3 : 10
  const points = Array.from({ length: corners }, (_, at) => {
    const reach = shape === 'star' && at % 2 === 1 ? radius * 0.4 : radius
    const angle = (at / corners) * 2 * Math.PI - Math.PI / 2
    return `${x + reach * Math.cos(angle)},${y + reach * Math.sin(angle)}`
  })
  return `<polygon points="${points.join(' ')}" ${style}/>`
}

function caption (prompt: string, { width, height }: ImageSize): string {
  const lines = linesOf(prompt)
  const extent = textExtent(lines)
  const scale = Math.min(width * 0.92 / Math.max(extent.width, 60), height * 0.22 / extent.height)
  const band = extent.height * scale + height * 0.06
  const left = (width - extent.width * scale) / 2
  const top = height - band + height * 0.03
  return `<rect y="${height - band}" width="${width}" height="${band}" fill="#000" fill-opacity=".55"/>` +
    `<path transform="translate(${left} ${top}) scale(${scale})" fill="#fff" d="${textPath(lines)}"/>`
}

function linesOf (prompt: string): string[] {
  const text = prompt.normalize('NFKD').replace(/\p{M}+/gu, '').toUpperCase().slice(0, maxLetters)
  const lines: string[] = ['']
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? ''
    const joined = line === '' ? word : `${line} ${word}`
    if (joined.length <= lettersPerLine || line === '') lines[lines.length - 1] = joined.slice(0, lettersPerLine)
    else lines.push(word.slice(0, lettersPerLine))
  }
  return lines
}

const commas = (colour: string): string => colour.replaceAll(' ', ',')
