import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { fetchAll, type List } from '../api/list.ts'
import type { Query } from '../api/fetch.ts'
import { inWords } from '../api/error.ts'
import { saveCsv, type CsvColumn } from './csv.ts'
import { Failure, Loading } from './states.tsx'

export interface Column<Row> extends CsvColumn<Row> {
  /** What a cell shows; absent: the column is in CSV alone. */
  cell? (row: Row): ComponentChildren
  /** Not shown where there is little room. */
  isSecondary?: boolean
  /** Has a line of its own where a row is a card. */
  isLong?: boolean
}

interface TableProps<Row> {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf (row: Row): string
  /** The page of a row. */
  href?: (row: Row) => string
  /** Whether each row is a card where there is little room. */
  hasCards?: boolean
  /** Whether other rows are on their way. */
  isBusy?: boolean
}

/** Rows and columns. The first cell of a row that has a page links to it, and so does a click anywhere else in it. */
export function Table<Row> ({ label, columns, rows, keyOf, href, hasCards = false, isBusy = false }: TableProps<Row>): JSX.Element {
  const shown = columns.filter(({ cell }) => cell !== undefined)
  const className = ({ isNumber, isSecondary, isLong }: Column<Row>): string =>
    [isNumber === true && 'number', isSecondary === true && 'secondary', isLong === true && 'long'].filter(Boolean).join(' ')
  return (
    <div class={hasCards ? 'table cards' : 'table'} tabIndex={0} role='region' aria-label={label} aria-busy={isBusy}>
      <table>
        <thead><tr>{shown.map(column => <th key={column.name} scope='col' class={className(column)}>{column.name}</th>)}</tr></thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)} class={href === undefined ? '' : 'linked'}>
              {shown.map((column, index) => (
                <td key={column.name} class={className(column)}>
                  {index === 0 && href !== undefined ? <a class='row' href={href(row)}>{column.cell?.(row)}</a> : column.cell?.(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Rows that are all here, with CSV. */
export function SavedTable<Row> ({ name, ...table }: TableProps<Row> & { name: string }): JSX.Element {
  return (
    <>
      <Table {...table} />
      <div class='actions'><button type='button' class='plain' onClick={() => saveCsv(name, table.columns, table.rows)}>Export CSV</button></div>
    </>
  )
}

interface ListTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  list: List<Row>
  /** Where all rows are, for CSV. */
  source: { path: string, query?: Query, name: string }
  /** What stands there when there are no rows. */
  empty: ComponentChildren
}

/** A list with its states, further pages and CSV. */
export function ListTable<Row> ({ list, source, empty, ...table }: ListTableProps<Row>): JSX.Element {
  const { rows, state, error, hasMore } = list
  if (rows.length === 0 && state === 'ready') return <>{empty}</>
  if (rows.length === 0 && state === 'loading') return <Loading />
  return (
    <>
      {rows.length > 0 && <Table {...table} rows={rows} isBusy={state === 'loading'} />}
      {state === 'failed' && <Failure error={error} retry={list.reload} />}
      {rows.length > 0 && (
        <div class='actions'>
          {hasMore && <button type='button' onClick={() => list.more()} disabled={state === 'loading'}>Show more</button>}
          <CsvButton {...source} columns={table.columns} />
        </div>
      )}
    </>
  )
}

const maxCsvRows = 50_000

/** Saves every row of a list. */
export function CsvButton<Row> ({ path, query = {}, name, columns }: ListTableProps<Row>['source'] & { columns: readonly Column<Row>[] }): JSX.Element {
  const [note, setNote] = useState('')
  async function save (): Promise<void> {
    setNote('Preparing…')
    try {
      const { rows, isAll } = await fetchAll<Row>(path, query, maxCsvRows)
      saveCsv(name, columns, rows)
      setNote(isAll ? '' : `Only the first ${maxCsvRows.toLocaleString('en-US')} rows.`)
    } catch (error) {
      setNote(inWords(error))
    }
  }
  return <><button type='button' class='plain' onClick={() => { save() }}>Export CSV</button><span class='muted' role='status'>{note}</span></>
}
