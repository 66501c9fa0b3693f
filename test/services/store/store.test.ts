import t from 'tap'
import type { Test } from 'tap'
import { createJsonRows } from '../../../services/store/json-rows.ts'
import { openSqlite } from '../../../services/store/sqlite.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import type { Store } from '../../../services/store/store.ts'
import { createDatabase, forEachEngine } from '../../helpers/engines.ts'

const kinds: Record<string, (t: Test) => Promise<Store>> = {
  'a SQLite file': async (t) => await (await createDatabase(t, 'sqlite')).open(),
  'SQLite in memory': async (t) => {
    const store = await openSqlite(':memory:')
    t.teardown(() => store.close())
    return store
  },
  Postgres: async (t) => await (await createDatabase(t, 'postgres')).open()
}

const words = {
  sqlite: { duplicate: /UNIQUE/, noTable: /no such table/, twoStatements: /More than one statement/ },
  postgres: { duplicate: /duplicate key/, noTable: /does not exist/, twoStatements: /multiple commands/ }
}

async function ids (store: Store): Promise<number[]> {
  return (await store.all<{ id: number }>('select id from note order by id')).map(({ id }) => id)
}

for (const [kind, openKind] of Object.entries(kinds)) {
  t.test(`in ${kind}`, async (t) => {
    const open = async (t: Test) => {
      const store = await openKind(t)
      await store.run('create table note (id bigint primary key, text text)')
      return store
    }

    t.test('rows come back as they went in', async (t) => {
      const store = await open(t)
      t.equal(await store.run('insert into note (id, text) values ($1, $2), ($3, $4)', [1, 'one', 2, null]), 2)
      t.same(await store.all('select id, text from note order by id'), [{ id: 1, text: 'one' }, { id: 2, text: null }])
      t.same(await store.get('select text from note where id = $1', [1]), { text: 'one' })
      t.equal(await store.get('select text from note where id = $1', [3]), undefined)
      t.same(await store.get('insert into note (id) values ($1) returning id', [3]), { id: 3 })
      t.equal(await store.run('update note set text = $1 where id > $2', ['more', 1]), 2)
    })

    t.test('text of every kind comes back as it went in', async (t) => {
      const store = await open(t)
      for (const text of ['', ' ', 'né 漢字 🎈', "it's \"quoted\" \\ $1 ?1", '{"a":[1,2]}', '2026-01-01', '0123', 'true']) {
        await store.run('insert into note (id, text) values (1, $1) on conflict (id) do update set text = $1', [text])
        t.same(await store.get('select text from note'), { text })
      }
    })

    t.test('a placeholder may be used twice and in any order', async (t) => {
      const store = await open(t)
      const sql = 'select cast($2 as text) as b, cast($1 as text) as a, cast($2 as text) as again'
      t.same(await store.get(sql, ['a', 'b']), { a: 'a', b: 'b', again: 'b' })
    })

    t.test('integers stay integers, also in a division', async (t) => {
      const store = await open(t)
      t.same(await store.get('select cast($1 as bigint) / 2 as half', [7]), { half: 3 })
    })

    t.test('what is computed from integers is a number', async (t) => {
      const store = await open(t)
      await store.run('insert into note (id) values (1), (2), (4)')
      t.same(await store.get('select count(*) as count, sum(id) as sum, max(id) as max, 2 > 1 as yes, 1 > 2 as no from note'),
        { count: 3, sum: 7, max: 4, yes: 1, no: 0 })
      t.same(await store.get('select sum(id) as sum from note where id > 9'), { sum: null })
    })

    t.test('integers outside the safe range are refused in both directions', async (t) => {
      const store = await open(t)
      const insert = 'insert into note (id) values ($1)'
      for (const value of [2 ** 53, -(2 ** 53), 2 ** 63, NaN, Infinity]) {
        await t.rejects(store.run(insert, [value]), RangeError)
      }
      await t.rejects(store.get('select 9007199254740993 as value'), RangeError)
      await t.rejects(store.get('select -9007199254740993 as value'), RangeError)
      for (const value of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) await store.run(insert, [value])
      t.same(await ids(store), [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])
      t.same(await store.get('select max(id) - 1 as next from note'), { next: Number.MAX_SAFE_INTEGER - 1 })
    })

    t.test('a sum that leaves the safe range is refused', async (t) => {
      const store = await open(t)
      await store.run('insert into note (id) values ($1), (5)', [Number.MAX_SAFE_INTEGER])
      await t.rejects(store.get('select sum(id) as sum from note'), RangeError)
      t.equal((await ids(store)).length, 2)
    })

    t.test('a transaction that throws is rolled back', async (t) => {
      const store = await open(t)
      const failing = store.transaction(async (queries) => {
        await queries.run('insert into note (id) values (1)')
        throw new Error('changed my mind')
      })
      await t.rejects(failing, { message: 'changed my mind' })
      t.same(await ids(store), [])
    })

    t.test('a failed statement rolls its transaction back, even if the error was caught', async (t) => {
      const store = await open(t)
      await store.run('insert into note (id) values (1)')
      const failing = store.transaction(async (queries) => {
        await queries.run('insert into note (id) values (2)')
        await queries.run('insert into note (id) values (1)').catch(() => 'never mind')
      })
      await t.rejects(failing, { message: words[store.engine].duplicate })
      await t.rejects(store.transaction(async (queries) => {
        await queries.run('insert into note (id) values (1)').catch(() => 'never mind')
        await queries.run('insert into note (id) values (2)')
      }), { message: words[store.engine].duplicate })
      await t.rejects(store.transaction(async (queries) => {
        await queries.run('insert into note (id) values (2)')
        await queries.get('select 9007199254740993 as value').catch(() => 'never mind')
      }), RangeError)
      t.same(await ids(store), [1])
    })

    t.test('a transaction may replace the error of a failed statement', async (t) => {
      const store = await open(t)
      const failing = store.transaction(async (queries) => {
        await queries.run('insert into note (id) values (1), (1)').catch(() => { throw new Error('twice') })
      })
      await t.rejects(failing, { message: 'twice' })
    })

    t.test('statements of a transaction may be issued concurrently', async (t) => {
      const store = await open(t)
      await store.transaction(async (queries) => {
        await Promise.all([5, 3, 8].map((id) => queries.run('insert into note (id) values ($1)', [id])))
      })
      t.same(await ids(store), [3, 5, 8])
    })

    t.test('a transaction waits for statements that were not awaited', async (t) => {
      const store = await open(t)
      await store.transaction(async (queries) => {
        for (const id of [1, 2, 3]) queries.run('insert into note (id) values ($1)', [id])
      })
      t.same(await ids(store), [1, 2, 3])
    })

    t.test('a statement of another caller stays outside a transaction', async (t) => {
      const store = await open(t)
      const begun = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      const failing = store.transaction(async (queries) => {
        await queries.run('insert into note (id) values (1)')
        begun.resolve()
        await goOn.promise
        throw new Error('undone')
      })
      await begun.promise
      const outside = store.run('insert into note (id) values (2)')
      goOn.resolve()
      await t.rejects(failing, { message: 'undone' })
      t.equal(await outside, 1)
      t.same(await ids(store), [2])
    })

    t.test('transactions that lock before they read are serialised', async (t) => {
      const store = await open(t)
      await store.run('insert into note (id, text) values (1, $1)', [''])
      const letters = [...'abcdefghijklmnop']
      await Promise.all(letters.map((letter) => store.transaction(async (queries) => {
        await queries.run('update note set id = id where id = 1')
        const note = await queries.get<{ text: string }>('select text from note where id = 1')
        await new Promise(setImmediate)
        await queries.run('update note set text = $1 where id = 1', [note?.text + letter])
      })))
      const note = await store.get<{ text: string }>('select text from note')
      t.same([...note?.text ?? ''].sort(), letters)
    })

    t.test('a transaction reads its own changes', async (t) => {
      const store = await open(t)
      const found = await store.transaction(async (queries) => {
        await queries.run('insert into note (id) values (1)')
        return await queries.all('select id from note')
      })
      t.same(found, [{ id: 1 }])
    })

    t.test('a statement after the end of its transaction is refused', async (t) => {
      const store = await open(t)
      const queries = await store.transaction(async (queries) => queries)
      await t.rejects(queries.run('insert into note (id) values (1)'), { message: /has ended/ })
      t.same(await ids(store), [])
    })

    t.test('errors of the values are passed on, those of the statement are its refusal', async (t) => {
      const store = await open(t)
      const { duplicate, noTable, twoStatements } = words[store.engine]
      await store.run('insert into note (id) values (1)')
      await t.rejects(store.run('insert into note (id) values (1)'), { message: duplicate })
      await t.rejects(store.get('select id from nowhere'), { problem: 'refused', cause: { message: noTable } })
      const two = { message: twoStatements }
      await t.rejects(store.run('delete from note; delete from note'), store.engine === 'sqlite' ? two : { cause: two })
      t.same(await ids(store), [1])
    })

    t.test('its clock is the same in SQL, and stands still during a statement', async (t) => {
      const store = await open(t)
      const before = store.clock()
      const row = await store.get<{ now: number, again: number }>('select now_ms() as now, now_ms() as again')
      const now = row?.now ?? NaN
      t.equal(row?.again, now)
      // The node estimates the clock of Postgres from a round trip.
      t.ok(now >= before - 100 && now <= store.clock() + 100, `${now - before} ms later`)
      t.ok(Math.abs(now - Date.now()) < 1_000)
    })

    t.test('a closed store is unavailable', async (t) => {
      const store = await open(t)
      await Promise.all([store.close(), store.close()])
      await store.close()
      await t.rejects(store.get('select 1'), StoreUnavailable)
      await t.rejects(store.run('delete from note'), StoreUnavailable)
      await t.rejects(store.transaction(async () => 1), StoreUnavailable)
    })
  })
}

forEachEngine(t, 'reads during a transaction see the last commit', async (t, database) => {
  const [store, other] = [await database.open(), await database.open()]
  await store.run('create table note (id bigint primary key)')
  await store.transaction(async (queries) => {
    await queries.run('insert into note (id) values (1)')
    t.same(await ids(store), [])
    t.same(await ids(other), [])
  })
  t.same(await ids(store), [1])
  t.same(await ids(other), [1])
})

forEachEngine(t, 'concurrent updates of one row lose nothing', async (t, database) => {
  const nodes = await Promise.all([database.open(), database.open(), database.open()])
  const [first] = nodes
  await first?.run('create table counter (n bigint not null)')
  await first?.run('insert into counter (n) values (0)')
  await Promise.all(nodes.flatMap((node) => Array.from({ length: 20 }, (_, index) => index % 2 === 0
    ? node.run('update counter set n = n + 1')
    : node.transaction(async (queries) => {
      await queries.run('update counter set n = n + 1')
      await queries.get('select n from counter')
    })
  )))
  t.same(await first?.get('select n from counter'), { n: 60 })
})

forEachEngine(t, 'texts with NUL are written and looked for, in JSON too', async (t, database) => {
  const store = await database.open()
  await store.run('create table odd (text text)')
  const rows = createJsonRows<{ text: string }>(store.engine, { text: 'text' })
  await store.run('insert into odd (text) values ($1)', ['a\0b'])
  await store.run(`insert into odd (text) select text from ${rows.sql}`, [rows.parameter([{ text: 'c\0d' }, { text: 'e\\u0000f' }])])
  t.equal((await store.all('select text from odd where text = $1', ['a\0b'])).length, 1)
  const texts = (await store.all<{ text: string }>('select text from odd')).map(({ text }) => text.replace('\ufffd', '\0'))
  t.same(texts, ['a\0b', 'c\0d', 'e\\u0000f'])
})

forEachEngine(t, 'texts with halves of surrogate pairs are written and looked for, in JSON too', async (t, database) => {
  const store = await database.open()
  await store.run('create table odd (text text)')
  const rows = createJsonRows<{ text: string }>(store.engine, { text: 'text' })
  const plain = '[C:\\udata\\x]'
  const texts = ['a\ud83d\ud83db', '\udc00', 'c\ud83d', '😀\ud83d', '\\\ud83d', '\\ud83d', '\\\\ud83d\0']
  await store.run(`insert into odd (text) select text from ${rows.sql}`, [rows.parameter(texts.map(text => ({ text })))])
  await store.run(`insert into odd (text) select text from ${rows.sql}`, [`[${store.engine === 'sqlite' ? '["\\ud83d\\ude00"]' : '{"text":"\\ud83d\\ude00"}'}]`])
  await store.run('insert into odd (text) values ($1)', [plain])
  const kept = (await store.all<{ text: string }>('select text from odd')).map(({ text }) => text.replaceAll('\0', '\ufffd'))
  t.same(kept.map(text => text.replaceAll(/\ufffd+/g, '?')), [...texts, '😀', plain].map(text => {
    return text.toWellFormed().replaceAll('\0', '\ufffd').replaceAll(/\ufffd+/g, '?')
  }))
})
