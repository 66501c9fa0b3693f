import t from 'tap'
import { connect } from '../../../services/store/sqlite-connection.ts'

t.test('the clock stands still during a statement, however often it is mentioned', async t => {
  let nowMs = 0
  const connection = connect(':memory:', { clock: () => ++nowMs })
  t.teardown(() => connection.close())
  const ask = () => connection.get('select now_ms() as now, now_ms() as again, 0 + now_ms() as more')
  t.match(ask(), { now: 1, again: 1, more: 1 })
  t.match(ask(), { now: 2, again: 2, more: 2 })
  connection.run('create table note (id integer, at integer)')
  connection.run('insert into note values (1, now_ms()), (2, now_ms())')
  connection.script('insert into note values (3, now_ms())')
  t.match(connection.all('select at, now_ms() as now from note'),
    [{ at: 3, now: 5 }, { at: 3, now: 5 }, { at: 4, now: 5 }])
})
