/**
 * Models that write their thoughts into the text, between tags at its beginning, where the server does not
 * take them out. Sources: their model cards on Hugging Face; docs.perplexity.ai for Sonar.
 */
const thinkAloud = /minimax-m\d|deepseek-r1|r1-1776|qwq|sonar-reasoning|glm-z1|qwen3.*thinking|phi-4.*reasoning/i

const opening = '<think>'
const closing = '</think>'

/** What a piece of text says: visible text, and thoughts. */
export interface Said { content: string, thoughts: string }

/**
 * A separator for the text of a model; null where its text has no thoughts: `isSet` by the operator, else by
 * the model's name.
 */
export function thinkTagsOf (model: string, isSet?: boolean | null): ThinkTags | null {
  return isSet ?? thinkAloud.test(model) ? new ThinkTags() : null
}

/** Separates the thoughts at the beginning of a text from the rest, however the text is cut into pieces. */
export class ThinkTags {
  #place: 'before' | 'inside' | 'gap' | 'after' = 'before'
  /** The end of the text so far, which may be a part of a tag. */
  #held = ''

  take (piece: string): Said {
    if (this.#place === 'after') return { content: piece, thoughts: '' }
    const text = this.#held + piece
    this.#held = ''
    if (this.#place === 'before') return this.#begin(text)
    return this.#place === 'inside' ? this.#think(text) : this.#skip(text)
  }

  /** What was held, at the end of the text. */
  end (): Said {
    const held = this.#held
    this.#held = ''
    return this.#place === 'inside' ? { content: '', thoughts: held } : { content: held, thoughts: '' }
  }

  #begin (text: string): Said {
    const start = text.trimStart()
    if (start.startsWith(opening)) {
      this.#place = 'inside'
      return this.#think(start.slice(opening.length))
    }
    if (opening.startsWith(start)) return this.#hold(text)
    this.#place = 'after'
    return { content: text, thoughts: '' }
  }

  #think (text: string): Said {
    const end = text.indexOf(closing)
    if (end === -1) {
      const open = text.lastIndexOf('<')
      const from = open !== -1 && closing.startsWith(text.slice(open)) ? open : text.length
      this.#held = text.slice(from)
      return { content: '', thoughts: text.slice(0, from) }
    }
    this.#place = 'gap'
    const { content } = this.#skip(text.slice(end + closing.length))
    return { content, thoughts: text.slice(0, end) }
  }

  /** Leaves out the empty lines after the thoughts. */
  #skip (text: string): Said {
    const content = text.trimStart()
    if (content !== '') this.#place = 'after'
    return { content, thoughts: '' }
  }

  #hold (text: string): Said {
    this.#held = text
    return { content: '', thoughts: '' }
  }
}
