import type OpenAI from 'openai'

type Event = OpenAI.Responses.ResponseStreamEvent
type Item = OpenAI.Responses.ResponseOutputItem

/** The deltas of each kind of item, between what begins and what ends them. */
const insides: Readonly<Record<string, readonly (readonly [string, string, string])[]>> = {
  message: [
    ['output_text.delta', 'content_part.added', 'content_part.done'],
    ['output_text.annotation.added', 'content_part.added', 'content_part.done'],
    ['output_text.done', 'content_part.added', 'content_part.done'],
    ['refusal.delta', 'content_part.added', 'content_part.done'],
    ['refusal.done', 'content_part.added', 'content_part.done']
  ],
  reasoning: [
    ['reasoning_summary_text.delta', 'reasoning_summary_part.added', 'reasoning_summary_part.done'],
    ['reasoning_summary_text.done', 'reasoning_summary_part.added', 'reasoning_summary_part.done']
  ],
  function_call: [['function_call_arguments.delta', '', ''], ['function_call_arguments.done', '', '']],
  custom_tool_call: [['custom_tool_call_input.delta', '', ''], ['custom_tool_call_input.done', '', '']],
  image_generation_call: [],
  tool_search_call: []
}

const finals = ['response.completed', 'response.incomplete', 'response.failed']

/** What is wrong with the order of a response's events, in words; empty: nothing. */
export function orderProblems (events: readonly Event[]): string[] {
  const problems: string[] = []
  const check = (isRight: boolean, problem: string): void => { if (!isRight) problems.push(problem) }
  events.forEach(({ sequence_number: number }, at) => check(number === at, `event ${at} has the number ${number}`))
  check(events[0]?.type === 'response.created', 'it does not begin with response.created')
  check(events[1]?.type === 'response.in_progress', 'response.in_progress does not follow')
  const last = events.at(-1)
  check(finals.includes(last?.type ?? ''), `it ends with ${last?.type}`)
  const items = new Map<number, OpenItem>()
  const done: Item[] = []
  for (const [at, event] of events.entries()) {
    if (at < 2 || at === events.length - 1) continue
    if (finals.includes(event.type)) check(false, `${event.type} is not the last event`)
    if (event.type === 'response.output_item.added') {
      check(event.output_index === items.size, `item ${items.size} has the index ${event.output_index}`)
      items.set(event.output_index, { item: event.item, text: '', part: null, isDone: false })
      continue
    }
    const index: unknown = Reflect.get(event, 'output_index')
    const open = typeof index === 'number' ? items.get(index) : undefined
    if (open === undefined || open.isDone) {
      check(false, `${event.type} is outside of an item`)
      continue
    }
    if (event.type === 'response.output_item.done') {
      check(open.part === null, 'an item ends within a part')
      check(open.item.type === event.item.type && open.item.id === event.item.id, 'another item ends')
      open.isDone = true
      done[event.output_index] = event.item
      check(textOf(event.item) === open.text, `the item has ${JSON.stringify(textOf(event.item))}, the deltas ${JSON.stringify(open.text)}`)
    } else problems.push(...insideProblems(event, open))
  }
  if (last !== undefined && 'response' in last) {
    check(JSON.stringify(last.response.output) === JSON.stringify(done), 'the output is not what the items were')
  }
  return problems
}

interface OpenItem { item: Item, text: string, part: string | null, isDone: boolean }

function insideProblems (event: Event, open: OpenItem): string[] {
  const name = event.type.replace('response.', '')
  const { item } = open
  if (Reflect.get(event, 'item_id') !== item.id) return [`${name} names another item`]
  const rules = insides[item.type] ?? []
  if (rules.some(([, begin]) => begin === name)) {
    if (open.part !== null) return ['a part begins within a part']
    open.part = name
    return []
  }
  if (rules.some(([,, end]) => end === name)) {
    if (open.part === null) return ['a part ends that has not begun']
    open.part = null
    return []
  }
  const rule = rules.find(([inside]) => inside === name)
  if (rule === undefined) return [`${name} is in an item of type ${item.type}`]
  if (rule[1] !== '' && open.part === null) return [`${name} is outside of a part`]
  if (name.endsWith('.delta')) open.text += String(Reflect.get(event, 'delta'))
  return []
}

/** All text of an item. */
function textOf (item: Item): string {
  if (item.type === 'message') {
    return item.content.map(part => part.type === 'refusal' ? part.refusal : part.text).join('')
  }
  if (item.type === 'reasoning') return item.summary.map(({ text }) => text).join('')
  if (item.type === 'function_call') return item.arguments
  return item.type === 'custom_tool_call' ? item.input : ''
}
