import t from 'tap'
import { amounts, notAmounts } from '../helpers/amount-cases.ts'
import { chat, findingsOf, openConsole, skip } from './stand.ts'

t.test('amounts: the button has what is booked, and a text that is none is refused before it is sent', { skip }, async t => {
  const { signIn, open, page, errors, admin } = await openConsole(t)
  await admin('POST', '/accounts', { id: 'globex' })
  await signIn()
  await open('/accounts/globex')
  const sent: unknown[] = []
  page.on('request', request => { if (request.method() === 'POST') sent.push(request.postDataJSON()) })
  await page.getByRole('button', { name: 'Deposit' }).click()
  const dialog = page.getByRole('dialog')
  const amount = page.getByLabel('Amount in US dollars')
  const alert = page.getByRole('alert')
  for (const [text, message] of notAmounts) {
    await amount.fill(text)
    await dialog.getByRole('button', { name: 'Deposit', exact: true }).click()
    t.match(await alert.innerText(), message, text)
  }
  for (const [text, message] of [['-5', /below zero/], ['0', /above zero/], [' ', /such as 12\.50/]] as const) {
    await amount.fill(text)
    await page.keyboard.press('Enter')
    await alert.getByText(message).waitFor()
  }
  t.same(sent, [])
  t.same(await findingsOf(page), [])
  await amount.fill('1250.000000001')
  await dialog.getByRole('button', { name: 'Deposit $1,250.000000001 to globex', exact: true }).waitFor()
  await page.keyboard.press('Escape')

  const booked = amounts.filter(([, nano]) => nano < Number.MAX_SAFE_INTEGER)
  for (const [text] of booked) {
    await page.getByRole('button', { name: 'Deposit' }).click()
    await amount.fill(` ${text} `)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
  }
  const { data } = await admin('GET', '/entries?account=globex')
  t.same(data.map(entry => entry.amount_nano).reverse(), booked.map(([, nano]) => nano))
  t.same(errors, [])
})

t.test('amounts: every dialog with money says what it is going to do', { skip }, async t => {
  const stand = await openConsole(t)
  const { signIn, open, page, errors, admin } = stand
  await chat(stand)
  await admin('POST', '/accounts', { id: 'globex' })
  await admin('POST', '/accounts/globex/deposits', { amount_usd: 5 })
  const { id } = await admin('POST', '/keys', { account: 'globex', label: 'shop' })
  await signIn()
  await open('/accounts/globex')
  const dialog = page.getByRole('dialog')
  const says = async (name: string): Promise<void> => {
    await dialog.getByRole('button', { name, exact: true }).waitFor()
    t.same(await findingsOf(page), [], name)
  }
  const amount = page.getByLabel('Amount in US dollars')

  await page.getByRole('button', { name: 'Transfer…' }).click()
  await amount.fill('12,50')
  await page.getByLabel('To the account').fill('default')
  await says('Transfer')
  await amount.fill('1,250.5')
  await says('Transfer $1,250.50 to default')
  await page.getByLabel('All that is available').check()
  await says('Transfer all to default')
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Withdraw…' }).click()
  await amount.fill('1.5')
  await says('Withdraw $1.50 from globex')
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Adjust…' }).click()
  await amount.fill('1.5')
  await says('Adjust by +$1.50')
  await page.getByLabel('Which way').selectOption('take')
  await says('Adjust by −$1.50')
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Settings…' }).click()
  await says('Save')
  await page.getByLabel('Soft budget in US dollars').fill('0,50')
  await page.getByRole('button', { name: 'Save' }).click()
  t.match(await page.getByRole('alert').innerText(), /^Soft budget: .*write 0\.50\.$/)
  await page.getByLabel('Soft budget in US dollars').fill('0.5')
  await says('Save: soft budget $0.50 a month')
  await page.getByLabel('Low balance in US dollars').fill('1,000')
  await says('Save: soft budget $0.50 a month, low balance $1,000.00')
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Budget in US dollars').fill('0,50')
  await page.getByRole('button', { name: 'Create' }).click()
  t.match(await page.getByRole('alert').innerText(), /^Budget: .*write 0\.50\.$/)
  await page.getByLabel('Budget in US dollars').fill('0.5')
  await page.getByLabel('Per').selectOption('in all')
  await says('Create: budget $0.50 in all')
  await page.keyboard.press('Escape')

  await open('/accounts/default')
  await page.getByRole('button', { name: 'Refund…' }).click()
  await says('Refund all that is left to default')
  await amount.fill('0,000001')
  await says('Refund')
  await amount.fill('0.000001')
  await says('Refund $0.000001 to default')
  await page.keyboard.press('Escape')

  await open(`/keys/${id}`)
  await page.getByRole('button', { name: 'Settings…' }).click()
  await page.getByLabel('Requests a minute').fill('1,2')
  await page.getByRole('button', { name: 'Save' }).click()
  t.match(await page.getByRole('alert').innerText(), /^Requests a minute: a whole number/)
  await page.getByLabel('Budget in US dollars').fill('20')
  await page.getByLabel('Per').selectOption('week')
  await says('Save: budget $20.00 a week')
  t.same(errors, [])
})
