import { commonWords, wordsOf } from './words.ts'
import type { OfferedTool } from './tool-types.ts'

/**
 * The tools a text clearly asks for, best match first: the text has at least half of the telling words of the
 * tool's name, or two words of its description. Each tool needs a word of its own, so that of two tools for
 * the weather only one is called.
 */
export function matchTools (tools: readonly OfferedTool[], text: string): OfferedTool[] {
  const spoken = new Set(wordsOf(text))
  const claimed = new Set<string>()
  return tools.map(tool => match(tool, spoken, text))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .filter(({ words }) => {
      const own = words.filter(word => !claimed.has(word))
      for (const word of own) claimed.add(word)
      return own.length > 0
    })
    .map(({ tool }) => tool)
}

interface Match { tool: OfferedTool, words: string[], score: number }

function match (tool: OfferedTool, spoken: ReadonlySet<string>, text: string): Match {
  if (text.includes(tool.name)) return { tool, words: [tool.name, ...wordsOf(tool.name)], score: 10 }
  const name = telling(tool.name)
  const inName = name.filter(word => spoken.has(word))
  const described = telling(tool.description).filter(word => spoken.has(word) && !name.includes(word))
  const words = [...inName, ...described]
  const isAsked = (inName.length > 0 && inName.length * 2 >= name.length) || words.length >= 2
  // A whole name outweighs a part of a longer one.
  const score = inName.length / Math.max(1, name.length) + inName.length + described.length / 2
  return { tool, words, score: isAsked ? score : 0 }
}

/** Words that many tools share and that say nothing about what a tool is for. */
const genericWords = new Set(`
  add api check create current data delete execute fetch find function given information invoke list load lookup name
  perform query read result retrieve return run search send set tool update user value
`.trim().split(/\s+/))

function telling (text: string): string[] {
  const words = [...new Set(wordsOf(text))].filter(word => word.length > 1 && !commonWords.has(word))
  const own = words.filter(word => !genericWords.has(word))
  // A tool named after nothing else, such as `search`, is asked for by that word.
  return own.length > 0 ? own : words
}
