import t from 'tap'
import { createClientPresence } from '../../../services/requests/joins/client-presence.ts'
import { createVideoLibrary } from '../../../services/videos/library.ts'
import { createJobRows } from '../../../services/videos/rows.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { createBooks } from '../billing/ledger/helper.ts'
import { sampleJob } from './jobs.ts'

forEachEngine(t, 'pages of videos follow each other, whatever is in their prompts', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000, budget: 1000 })
  const clients = createClientPresence({ kind: 'job', store, node: 'node', takeoverMs: 1000 })
  const rows = createJobRows(store, 'node', clients)
  const prompts = ['half \ud83d', 'NUL \0', '\\ud83d', 'whole \u{1f600}']
  for (const [at, prompt] of prompts.entries()) {
    const job = sampleJob({ id: `job_${at}`, createdAt: 5, dedupe: `d${at}`, hold: null })
    await rows.insert(store, { ...job, task: { ...job.task, prompt } }, `${at}`)
  }
  const library = createVideoLibrary(store)
  const { account } = sampleJob()
  const seen: (string | undefined)[] = []
  for (let after: string | null = null; ;) {
    const page = await library.list(account, { after, limit: 2, order: 'asc' })
    seen.push(...page?.jobs.map(({ task }) => task.prompt) ?? [])
    after = page?.jobs.at(-1)?.id ?? null
    if (page?.hasMore !== true) break
  }
  t.same(seen, ['half \ufffd', 'NUL ', '\\ud83d', 'whole \u{1f600}'])
  const [last] = (await library.list(account, { after: null, limit: 1, order: 'desc' }))?.jobs ?? []
  t.equal(last?.id, 'job_3')
  t.equal(await library.list(account, { after: 'none', limit: 1, order: 'asc' }), null)
  t.equal(await library.remove(account, 'job_0'), true)
  t.equal(await library.remove('budget', 'job_1'), false)
  t.equal(await library.get(account, 'job_0'), undefined)
})
