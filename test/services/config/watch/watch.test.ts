import { mkdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { ConfigError } from '../../../../services/config/config-error.ts'
import { watchConfig } from '../../../../services/config/watch/watch.ts'

/** Loads a file as its text; `bad` is refused. */
function loadText (path: string): string {
  const text = readFileSync(path, 'utf8')
  if (text.startsWith('bad')) throw new ConfigError(path, [])
  return text
}

/** A watched file, and the calls of its handlers as events. */
function start (t: Test, path: string, load: () => string | Promise<string> = () => loadText(path)) {
  const emitter = new EventEmitter()
  const events: string[] = []
  const watcher = watchConfig<string>({
    path,
    load,
    onChange (config) {
      events.push(config)
      emitter.emit('change', config)
    },
    onError (error) {
      events.push(error.name)
      emitter.emit('failure', error)
    }
  })
  t.teardown(() => watcher.close())
  const next = async (name: 'change' | 'failure', act: () => void) => {
    const event = once(emitter, name)
    act()
    return (await event)[0]
  }
  return { watcher, next, events }
}

t.test('onChange gets a change of the file', async (t) => {
  const path = join(t.testdir({ 'gateway.yaml': 'one' }), 'gateway.yaml')
  const { next, events } = start(t, path)
  t.equal(await next('change', () => writeFileSync(path, 'two')), 'two')
  t.equal(await next('change', () => writeFileSync(path, 'three')), 'three')
  t.same(events, ['two', 'three'])
})

t.test('onChange gets every replacement of the file', async (t) => {
  const directory = t.testdir({ 'gateway.yaml': 'one' })
  const path = join(directory, 'gateway.yaml')
  const { next } = start(t, path)
  for (const text of ['two', 'three']) {
    writeFileSync(join(directory, 'new'), text)
    t.equal(await next('change', () => renameSync(join(directory, 'new'), path)), text)
  }
})

t.test('onChange gets the file of a directory swapped behind links, as Kubernetes does', async (t) => {
  const directory = t.testdir({ v1: { 'gateway.yaml': 'one' }, app: {} })
  symlinkSync('v1', join(directory, '..data'))
  symlinkSync('..data/gateway.yaml', join(directory, 'gateway.yaml'))
  const path = join(directory, 'app', 'gateway.yaml')
  symlinkSync('../gateway.yaml', path)
  const { next } = start(t, path)
  for (const [version, text] of [['v2', 'two'], ['v3', 'three']] as const) {
    mkdirSync(join(directory, version))
    writeFileSync(join(directory, version, 'gateway.yaml'), text)
    symlinkSync(version, join(directory, '..tmp'))
    t.equal(await next('change', () => renameSync(join(directory, '..tmp'), join(directory, '..data'))), text)
  }
  t.equal(await next('change', () => writeFileSync(join(directory, 'v3', 'gateway.yaml'), 'four')), 'four')
})

t.test('onError gets an invalid or missing file, and onChange the next valid one', async (t) => {
  const path = join(t.testdir({ 'gateway.yaml': 'one' }), 'gateway.yaml')
  const { next, events } = start(t, path)
  t.type(await next('failure', () => writeFileSync(path, 'bad')), ConfigError)
  t.match(await next('failure', () => unlinkSync(path)), { code: 'ENOENT' })
  t.equal(await next('change', () => writeFileSync(path, 'two')), 'two')
  t.same(events, ['ConfigError', 'Error', 'two'])
})

t.test('the same content is only loaded by reload', async (t) => {
  const directory = t.testdir({ 'gateway.yaml': 'one', 'other.yaml': 'one' })
  const path = join(directory, 'gateway.yaml')
  const { watcher, events } = start(t, path)
  const other = start(t, join(directory, 'other.yaml'))
  writeFileSync(path, 'one')
  await other.next('change', () => writeFileSync(join(directory, 'other.yaml'), 'two'))
  t.same(events, [], 'though both looked at the same time')
  await watcher.reload()
  t.same(events, ['one'])
})

t.test('a change during a load is not lost', async (t) => {
  const path = join(t.testdir({ 'gateway.yaml': 'one' }), 'gateway.yaml')
  let loads = 0
  const { watcher, next, events } = start(t, path, async () => {
    const text = loadText(path)
    loads++
    if (loads === 1) writeFileSync(path, 'three')
    return text
  })
  writeFileSync(path, 'two')
  await watcher.reload()
  t.same(events, ['two'])
  t.equal(await next('change', () => {}), 'three')
})

t.test('loads do not overlap', async (t) => {
  const path = join(t.testdir({ 'gateway.yaml': 'one' }), 'gateway.yaml')
  let running = 0
  const { watcher, events } = start(t, path, async () => {
    running++
    await new Promise((resolve) => setImmediate(resolve))
    return String(running--)
  })
  await Promise.all([watcher.reload(), watcher.reload(), watcher.reload()])
  t.same(events, ['1', '1', '1'])
})

t.test('a change before the start of the watch is found if the running configuration is given', async (t) => {
  const path = join(t.testdir({ 'gateway.yaml': 'two' }), 'gateway.yaml')
  const changes = async (running: string) => {
    const events: string[] = []
    const options = { path, load: () => loadText(path), onError: t.error, running }
    const watcher = watchConfig<string>({ ...options, onChange: (config) => { events.push(config) } })
    await watcher.reload()
    await watcher.close()
    return events
  }
  t.same(await changes('one'), ['two', 'two'], 'once because it differs, once because of reload')
  t.same(await changes('two'), ['two'], 'only because of reload')
})

t.test('onError gets an error of onChange, and the watch continues', async (t) => {
  const path = join(t.testdir({ 'gateway.yaml': 'one' }), 'gateway.yaml')
  const errors: Error[] = []
  const watcher = watchConfig({
    path,
    load: () => loadText(path),
    onChange: () => { throw new Error('no') },
    onError: (error) => { errors.push(error) }
  })
  t.teardown(() => watcher.close())
  await watcher.reload()
  await watcher.reload()
  t.match(errors, [{ message: 'no' }, { message: 'no' }])
})

t.test('no callback is called after close', async (t) => {
  const path = join(t.testdir({ 'gateway.yaml': 'one' }), 'gateway.yaml')
  const { watcher, events } = start(t, path)
  await watcher.close()
  await watcher.reload()
  t.same(events, [])
})
