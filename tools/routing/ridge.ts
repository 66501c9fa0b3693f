/**
 * Least squares with a penalty on every coefficient but the first, by Gauss elimination; `rows` begin with a
 * 1 for the constant.
 */
export function ridge (
  rows: readonly (readonly number[])[], targets: readonly number[], penalty: number
): number[] {
  const size = rows[0]?.length ?? 0
  const matrix = Array.from({ length: size }, (_, i) => {
    const line = Array.from({ length: size }, (_, j) => i === j && i > 0 ? penalty : 0)
    return [...line, 0]
  })
  rows.forEach((row, index) => {
    for (let i = 0; i < size; i++) {
      const line = matrix[i] as number[]
      const value = row[i] as number
      for (let j = 0; j < size; j++) line[j] = (line[j] as number) + value * (row[j] as number)
      line[size] = (line[size] as number) + value * (targets[index] as number)
    }
  })
  return solve(matrix)
}

function solve (matrix: number[][]): number[] {
  const size = matrix.length
  for (let column = 0; column < size; column++) {
    let pivot = column
    for (let row = column + 1; row < size; row++) {
      if (Math.abs(at(matrix, row, column)) > Math.abs(at(matrix, pivot, column))) pivot = row
    }
    const [one, other] = [matrix[pivot] as number[], matrix[column] as number[]]
    matrix[column] = one
    matrix[pivot] = other
    for (let row = 0; row < size; row++) {
      if (row === column) continue
      const factor = at(matrix, row, column) / (at(matrix, column, column) || 1e-12)
      const line = matrix[row] as number[]
      for (let j = column; j <= size; j++) line[j] = (line[j] as number) - factor * (one[j] as number)
    }
  }
  return matrix.map((line, row) => (line[size] as number) / (line[row] || 1e-12))
}

function at (matrix: readonly number[][], row: number, column: number): number {
  return matrix[row]?.[column] as number
}
