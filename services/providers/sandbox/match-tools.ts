import { stopWords, wordsOf } from './words.ts'

/**
 * The tools a text asks for, best match first: it contains at least half of the specific words of the tool's
 * name, or two words of its name and description. Each tool must match a word that no better one has matched,
 * so that only one of two weather tools is called.
 */
export function matchTools (tools: readonly DeclaredTool[], text: string): DeclaredTool[] {
  const textWords = new Set(wordsOf(text))
  const claimed = new Set<string>()
  return tools.map(tool => match(tool, textWords, text))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .filter(({ words }) => {
      const own = words.filter(word => !claimed.has(word))
      for (const word of own) claimed.add(word)
      return own.length > 0
    })
    .map(({ tool }) => tool)
}

interface Match { tool: DeclaredTool, words: string[], score: number }

function match (tool: DeclaredTool, textWords: ReadonlySet<string>, text: string): Match {
  if (text.includes(tool.name)) return { tool, words: [tool.name, ...wordsOf(tool.name)], score: 10 }
  const name = specificWords(tool.name)
  const inName = name.filter(word => textWords.has(word))
  const described = specificWords(tool.description)
    .filter(word => textWords.has(word) && !name.includes(word))
  const words = [...inName, ...described]
  const isRequested = (inName.length > 0 && inName.length * 2 >= name.length) || words.length >= 2
  // A fully matched name outweighs a partial match of a longer one.
  const score = inName.length / Math.max(1, name.length) + inName.length + described.length / 2
  return { tool, words, score: isRequested ? score : 0 }
}

const genericWords = new Set(`
  add api check create current data delete execute fetch find function given information invoke list load lookup name
  perform query read result retrieve return run search send set tool update user value
`.trim().split(/\s+/))

function specificWords (text: string): string[] {
  const words = [...new Set(wordsOf(text))].filter(word => word.length > 1 && !stopWords.has(word))
  const specific = words.filter(word => !genericWords.has(word))
  // A tool may consist of generic words only, such as `search`.
  return specific.length > 0 ? specific : words
}

/** How a tool was declared: in `tools` as a function or custom tool, or in the deprecated `functions`. */
export type ToolForm = 'function' | 'custom' | 'legacy'

export interface DeclaredTool {
  form: ToolForm
  name: string
  description: string
  parameters: Record<string, unknown>
  /** Regular expression of a custom tool's input; null if unconstrained. */
  pattern: string | null
}
