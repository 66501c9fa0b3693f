import t from 'tap'
import type { CatalogueRow } from '../../../services/config/catalogue/catalogue-file.ts'
import { movePoint } from '../../../tools/catalogue/digits.ts'
import { readLitellm } from '../../../tools/catalogue/litellm.ts'
import { mergeSources, type Source } from '../../../tools/catalogue/merge.ts'
import { readPiAi } from '../../../tools/catalogue/pi-ai.ts'
import { withAgreedWindows } from '../../../tools/catalogue/windows.ts'

const chat = (more: Partial<CatalogueRow> = {}): CatalogueRow =>
  ({ kind: 'chat', input: ['text'], output: ['text'], features: ['tools'], released: '2026-01-01', ...more })

function source (id: string, date: string, rows: Record<string, CatalogueRow>): Source {
  return { id, name: id, version: '1', date, license: 'MIT', providers: { openai: rows }, notes: [] }
}

const price = (inputPico: number, outputPico: number) => ({ price: { inputPico, outputPico } })

t.test('of different prices the dearer rates are kept and reported', async t => {
  const { providers, contradictions } = mergeSources([
    source('one', '2026-11-01', { m: chat(price(2, 9)) }), source('two', '2026-11-02', { m: chat(price(3, 8)) })
  ])
  t.match(providers.openai?.m, { price: { inputPico: 3, outputPico: 9 } })
  t.match(contradictions, [/^openai\/m: .*\(one\), .*\(two\); kept/])
})

t.test('a price has fallen only if two newer sources agree', async t => {
  const old = source('old', '2026-07-02', { m: chat(price(5, 20)) })
  const one = source('one', '2026-11-01', { m: chat(price(2, 8)) })
  const two = source('two', '2026-11-20', { m: chat(price(2, 8)) })
  t.match(mergeSources([old, one]).providers.openai?.m, { price: { inputPico: 5, outputPico: 20 }, from: 'old' })
  t.match(mergeSources([old, one, two]).providers.openai?.m, { price: { inputPico: 2, outputPico: 8 }, from: 'two' })
})

t.test('at each length the dearest rate of any source counts', async t => {
  const tiers = [{ aboveTokens: 100, inputPico: 4, outputPico: 8 }]
  const { providers } = mergeSources([
    source('one', '2026-11-01', { m: chat({ ...price(1, 2), tiers }) }),
    source('two', '2026-11-01', { m: chat({ ...price(5, 2), tiers: [{ aboveTokens: 50, inputPico: 6, outputPico: 2 }] }) })
  ])
  t.same(providers.openai?.m?.tiers, [
    { inputPico: 6, outputPico: 2, aboveTokens: 50 }, { inputPico: 6, outputPico: 8, aboveTokens: 100 }
  ])
})

t.test('the tables of both packages are read to the digit', async t => {
  const table = {
    'gpt-9': {
      litellm_provider: 'openai',
      mode: 'chat',
      input_cost_per_token: 1.25e-7,
      output_cost_per_token: 0.000001,
      input_cost_per_token_above_272k_tokens: 3e-7,
      output_cost_per_token_above_272k_tokens: 2e-6,
      max_input_tokens: 9000,
      supports_vision: true,
      supports_reasoning: true
    },
    'gpt-1': { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, deprecation_date: '2026-01-01' },
    'gpt-odd': { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1.00000001e-7, output_cost_per_token: 1e-6 },
    'high/1024/gpt-image': { litellm_provider: 'openai', mode: 'image_generation' },
    'whisper-1': { litellm_provider: 'openai', mode: 'audio_transcription' }
  }
  const { providers, notes } = readLitellm(JSON.stringify(table), '1.0.0', '2026-11-28')
  t.same(Object.keys(providers.openai ?? {}), ['gpt-9', 'whisper-1'])
  t.match(providers.openai?.['gpt-9'], {
    price: { inputPico: 125_000, outputPico: 1_000_000 },
    tiers: [{ aboveTokens: 272_000, inputPico: 300_000, outputPico: 2_000_000 }],
    input: ['text', 'image'],
    features: ['reasoning'],
    contextWindow: 9000
  })
  t.equal(providers.openai?.['whisper-1']?.kind, 'other')
  t.match(notes, [/gpt-odd: .*not exact/])
  const long = { inputTokensAbove: 272000, input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }
  const model = {
    type: 'chat',
    id: 'gpt-9',
    reasoning: true,
    input: ['text'],
    contextWindow: 272000,
    maxTokens: 4096,
    cost: { input: 0.2, output: 1.2, cacheRead: 0.02, cacheWrite: 0, tiers: [long] }
  }
  const pi = readPiAi({ openai: JSON.stringify({ api: { a: model, b: { ...model, id: 'gpt-9:batch' } } }) }, '1.0.0', '2026-11-20')
  t.strictSame(pi.providers.openai, {
    'gpt-9': {
      kind: 'chat',
      input: ['text'],
      output: ['text'],
      features: ['tools', 'reasoning'],
      price: { inputPico: 200_000, outputPico: 1_200_000, cacheReadPico: 20_000 },
      tiers: [{ aboveTokens: 272_000, inputPico: 1_000_000, outputPico: 2_000_000 }],
      released: '2026-11-20'
    }
  }, 'neither the length of the first price nor an unknown one is a limit')
})

t.test('the decimal point is moved in the text', async t => {
  const cases = [['4e-06', 6, '4'], ['1.25e-07', 6, '0.125'], ['0.3', 0, '0.3'], ['10', 0, '10'], ['0.0', 6, '0'], ['1e1', 0, '10']] as const
  for (const [digits, places, moved] of cases) t.equal(movePoint(digits, places), moved, digits)
})

t.test('no service has a longer window than the maker, and rounded ones agree on the shorter', async t => {
  const reports: string[] = []
  const agreed = withAgreedWindows({
    anthropic: { 'claude-x-4-5': chat({ contextWindow: 200_000 }), 'claude-new': chat() },
    groq: { 'llama-9': chat({ contextWindow: 131_072 }) },
    openrouter: {
      'anthropic/claude-x-4.5': chat({ contextWindow: 1_000_000 }),
      'anthropic/claude-new': chat({ contextWindow: 500_000 }),
      'meta/llama-9': chat({ contextWindow: 128_000 })
    },
    together: { 'meta/llama-9': chat({ contextWindow: 8192 }) }
  }, text => reports.push(text))
  const windows = Object.values(agreed).flatMap(rows => Object.values(rows).map(row => row.contextWindow))
  t.same(windows, [200_000, 500_000, 128_000, 200_000, 500_000, 128_000, 8192])
  t.equal(reports.length, 2)
})

t.test('an answer as long as the window is no limit', async t => {
  const rows = {
    a: chat({ contextWindow: 1_000_000, maxOutput: 1_000_000 }),
    b: chat({ contextWindow: 8000, maxOutput: 8000 })
  }
  const { groq } = withAgreedWindows({ groq: rows }, () => {})
  t.match(groq, { a: { maxOutput: 131_072 }, b: { maxOutput: 8000 } })
})

t.test('a price of 0 that one of the newer tables alone has is omitted, unless the name says that it is free', async t => {
  const free = chat(price(0, 0))
  const { providers, contradictions } = mergeSources([
    source('litellm', '2026-11-01', { router: free, 'm:free': free, both: free }),
    source('pi-ai', '2026-11-01', { both: free })
  ])
  t.equal(providers.openai?.router?.price, undefined)
  t.match(providers.openai, { 'm:free': free, both: free })
  t.same(contradictions, ['openai/router: price omitted: it is 0 only at litellm'])
})
