import t from 'tap'
import { imagesCostNano, reportedSum, secondsCostNano } from '../../../services/billing/provider-cost.ts'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import type { GeneratedImages } from '../../../services/providers/provider-image.ts'

const perToken = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000, cacheReadPico: 500_000 }
const max = Number.MAX_SAFE_INTEGER

t.test('images cost what was made of them, by image or by token', async t => {
  const image = { url: 'https://x.example/a.png', revisedPrompt: null }
  const answer: GeneratedImages = {
    images: [image, image],
    costNano: null,
    dropped: [],
    usage: { inputText: 5, inputImage: 1, output: 10, outputText: 2 }
  }
  t.equal(imagesCostNano({ ...emptyPrice, imageNano: 30 }, answer), 60)
  t.equal(imagesCostNano(perToken, answer), 6 * 1000 + 12 * 4000)
  t.equal(imagesCostNano(perToken, { ...answer, usage: null }), undefined)
  t.equal(imagesCostNano(null, answer), undefined)
  t.equal(imagesCostNano(emptyPrice, answer), undefined)
})

t.test('a video costs its seconds', async t => {
  t.equal(secondsCostNano(100, 4.5), 450)
  t.equal(secondsCostNano(null, 4.5), undefined)
})

t.test('reported costs add up if every call reports one', async t => {
  const call = { prompt: 1, completion: 1 }
  t.equal(reportedSum([{ ...call, costNano: 3 }, { ...call, costNano: 0 }]), 3)
  t.equal(reportedSum([{ ...call, costNano: 3 }, call]), undefined)
  t.equal(reportedSum([{ ...call, costNano: max }, { ...call, costNano: max }]), max)
})
