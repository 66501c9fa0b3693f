import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { requestedTokens } from '../../../services/routing/text/asked-length.ts'
import { difficultyPairs } from '../../fixtures/difficulty-pairs.ts'
import { pairsWithin } from '../../fixtures/difficulty-within.ts'
import { modelOf, routerOf, routingRequest } from './helper.ts'

/** Models of several makers, from the weakest up. */
const names = [
  ['groq', 'llama-3.1-8b-instant'], ['openai', 'gpt-5-nano'], ['gemini', 'gemini-2.5-flash'], ['openai', 'gpt-5-mini'],
  ['anthropic', 'claude-haiku-4-5'], ['gemini', 'gemini-2.5-pro'], ['openai', 'gpt-5'], ['anthropic', 'claude-opus-4-5']
] as const
const models = names.map(([provider, id]) => ({
  ...modelOf({ id }),
  ...modelFromCatalogue(provider, id),
  id,
  deployments: [{ provider, model: id, weight: 1, priority: 0 }]
}))
const strength = (id: string | undefined) => names.findIndex(([, name]) => name === id)
const router = routerOf({ models })
const policies = ['auto', 'auto:cost', 'auto:quality'] as const

function decide (text: string | Partial<ChatCompletionRequest>, model = 'auto') {
  return router.decide(routingRequest(text, { model }))
}

t.test('of 60 pairs of prompts in many languages, nine of ten are in the order of their difficulty', async t => {
  t.ok(difficultyPairs.length >= 60, `${difficultyPairs.length} pairs`)
  const right = { difficulty: 0, need: 0, choice: 0, stronger: 0 }
  for (const [easier, harder] of difficultyPairs) {
    const [one, other] = [easier, harder].map(text => {
      const { ranked, signals } = decide(text)
      const qualityOf = (name: string) => ranked.find(({ id }) => id === name)?.quality ?? NaN
      const need = qualityOf('gpt-5') - qualityOf('gpt-5-nano')
      return { need, choice: strength(ranked[0]?.id), difficulty: Number(signals.difficulty) }
    })
    if (one === undefined || other === undefined) throw new TypeError('A pair has two prompts')
    if (other.difficulty > one.difficulty) right.difficulty++
    if (other.need > one.need) right.need++
    if (other.choice >= one.choice) right.choice++
    if (other.choice > one.choice) right.stronger++
    if (other.choice < one.choice) t.comment(`${easier} → stronger than ${harder}`)
  }
  for (const [name, count] of Object.entries(right)) {
    // Where a small model is measured to be nearly as good, a harder text does not need another one.
    const least = name === 'stronger' ? 0.5 : 0.9
    t.ok(count >= least * difficultyPairs.length, `${name}: ${count} of ${difficultyPairs.length}`)
  }
})

t.test('prompts of one kind of task are in the order of their difficulty', async t => {
  for (const { task, easier, harder } of pairsWithin) {
    const name = JSON.stringify(easier)
    const [one, other] = [decide(easier), decide(harder)]
    if (task !== 'any') t.same([one.task, other.task], [task, task], name)
    const [low, high] = [Number(one.signals.difficulty), Number(other.signals.difficulty)]
    t.ok(high > low, `${name}: ${low}, ${high}`)
    for (const policy of policies) {
      const [chosen = NaN, stronger = NaN] = [easier, harder]
        .map(prompt => strength(decide(prompt, policy).ranked[0]?.id))
      t.ok(stronger >= chosen, `${policy}, ${name}: ${names[chosen]?.[1]}, ${names[stronger]?.[1]}`)
    }
  }
})

t.test('the length of an answer is read from what is asked', async t => {
  const cases: [text: string, least: number, most: number][] = [
    ['Write an essay of at least 6000 words about rivers.', 7_000, 10_000], ['Write 6,000 words on rivers.', 7_000, 10_000],
    ['Explain it in two sentences.', 30, 80], ['Give me 5 bullet points.', 60, 200], ['Answer yes or no: is 7 prime?', 4, 20],
    ['Schreibe einen Aufsatz mit 500 Wörtern.', 500, 900], ['Écris un texte de 300 mots.', 300, 600],
    ['Escribe un ensayo de 400 palabras.', 400, 700], ['写一篇800字的文章。', 700, 1_200], ['Напиши эссе на 500 слов.', 500, 900],
    ['Write a report of 3 pages.', 1_000, 2_500], ['Write three paragraphs on tea.', 200, 500], ['Write a one-page letter.', 300, 700]
  ]
  for (const [text, least, most] of cases) {
    const tokens = requestedTokens(text) ?? NaN
    t.ok(tokens >= least && tokens <= most, `${text} ${tokens}`)
    t.equal(decide(text).signals.outputTokens, tokens)
  }
  for (const text of ['Explain rivers.', 'Refactor these 300 lines of code.', 'I have two dogs.']) {
    t.equal(requestedTokens(text), null, text)
  }
  const costOf = (text: string) => decide(text).ranked.find(({ id }) => id === 'claude-haiku-4-5')?.costNano ?? NaN
  t.ok(costOf('Write an essay of 6000 words about rivers.') > 10 * costOf('Write an essay of 300 words about rivers.'))
})

t.test('reasoning_effort counts in the cost and the time of models that reason', async t => {
  const messages = [{ role: 'user' as const, content: 'Explain how a combustion engine works.' }]
  const of = (effort: ChatCompletionRequest['reasoning_effort'], name: string) => {
    const { ranked } = decide({ messages, ...(effort == null ? {} : { reasoning_effort: effort }) })
    return ranked.find(({ id }) => id === name)
  }
  const costs = (['minimal', 'low', 'medium', 'high'] as const).map(effort => of(effort, 'gpt-5')?.costNano ?? NaN)
  t.same(costs, costs.toSorted((one, other) => one - other))
  t.ok((costs[3] ?? 0) > 3 * (costs[0] ?? NaN))
  t.ok((of('high', 'gpt-5')?.latencyMs ?? 0) > (of('low', 'gpt-5')?.latencyMs ?? NaN))
  t.equal(of('high', 'llama-3.1-8b-instant')?.costNano, of('low', 'llama-3.1-8b-instant')?.costNano)
  t.equal(of(null, 'gpt-5')?.costNano, costs[2])
})

const wordProblems = [
  'Giulia ha 14 figurine e ne regala 5 a suo fratello Luca. Quante figurine le restano?',
  'Sanne heeft 14 stickers en geeft 5 stickers aan haar broer. Hoeveel stickers heeft ze nog?',
  'Ola ma 14 naklejek i oddaje 5 naklejek swojemu bratu. Ile naklejek jej zostało?',
  'Ayşe\'nin 14 çıkartması var ve 5 tanesini kardeşine veriyor. Kaç çıkartması kaldı?',
  'Lan có 14 nhãn dán và tặng em trai 5 nhãn dán. Hỏi Lan còn lại bao nhiêu nhãn dán?',
  '민지는 스티커 14장을 가지고 있습니다. 동생에게 5장을 주었습니다. 민지에게 남은 스티커는 몇 장입니까?',
  'لدى ليلى 14 ملصقا وأعطت أخاها 5 ملصقات. كم ملصقا بقي لديها الآن؟',
  'לדנה יש 14 מדבקות והיא נתנה לאחיה 5 מדבקות. כמה מדבקות נשארו לה?',
  'राधा के पास 14 स्टिकर हैं और वह अपने भाई को 5 स्टिकर देती है। उसके पास अब कितने स्टिकर बचे?',
  'มานีมีสติกเกอร์ 14 แผ่น เธอให้น้องชายไป 5 แผ่น มานีเหลือสติกเกอร์กี่แผ่น'
]

t.test('the task of a prompt is named, in any language', async t => {
  const cases: [text: string, task: string][] = [
    ['Who wrote Faust?', 'fact'], ['Write a Rust proxy with connection pooling.', 'code'], ['Debug this crash in my server.', 'debug'],
    ['Write SQL that joins users and orders.', 'sql'], ['Translate "tree" into German.', 'translate'],
    ['Extract the names from: Ann met Bob.', 'extract'], ['Prove that 2 is prime.', 'prove'], ['Hi there!', 'greet'],
    ['Tom has 3 cats. He buys 4 more for $5 each. How much did he pay?', 'word_problem'], ['Übersetze „Baum“ ins Englische.', 'translate'],
    ['证明素数有无穷多个。', 'prove'], ['Докажите, что корень из двух иррационален.', 'prove'], ['دولة مصر أين تقع؟', 'fact'],
    ['Which is right?\nA. 1\nB. 2\nC. 3\nD. 4', 'exam'],
    ['Translate: Tom has 3 cats. He buys 4 more for $5 each. How much did he pay?', 'translate']
  ]
  for (const [text, task] of cases) t.equal(decide(text).task, task, text)
  for (const text of wordProblems) t.equal(decide(text).task, 'word_problem', text)
  const competition = 'How many ways are there to seat 5 people on 8 chairs so that 2 of them are never next to each other?'
  t.not(decide(competition).task, 'word_problem', 'everyday life has other measures than competitions')
  const tools = [{ type: 'function' as const, function: { name: 'search' } }]
  t.equal(decide({ messages: [{ role: 'user', content: 'Book a table.' }], tools }).task, 'agent_step')

  const after = (first: string, last: string) => decide({
    messages: [{ role: 'user', content: first }, { role: 'assistant', content: 'Done.' }, { role: 'user', content: last }]
  }).task
  t.equal(after('Prove that 2 is prime.', 'Translate it into German.'), 'translate')
  t.equal(after('Prove that 2 is prime.', 'Please translate it into German.'), 'translate')
  t.equal(after('Prove that 2 is prime.', 'And 3?'), 'prove', 'a follow-up without a task of its own goes on with the last one')
})
