// Runs become rows of an SQLite file, and rows the trend of a figure. Two writers at once wait for each other; a
// transaction that a kill cut short is not there.

internal import CSQLite
package import Analysis
internal import Primitives

/// What can go wrong with the archive.
package enum HistoryError: Error, Sendable {
  case cannotOpen(path: String, problem: String)
  /// A file that SQLite did not write.
  case notAnArchive(path: String)
  case busy(path: String)
  case failed(path: String, problem: String)
}

extension HistoryError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .cannotOpen(let path, let problem): "\(path) cannot be opened as a history: \(problem). Choose another with --db."
    case .notAnArchive(let path): "\(path) is no history: it is not an SQLite file. Choose another with --db."
    case .busy(let path): "\(path) is written by another process for over 30 s. Try again."
    case .failed(let path, let problem): "\(path): \(problem)"
    }
  }
}

package final class History {
  private let path: String
  private var database: OpaquePointer?
  /// How long a writer waits for another, in ms.
  private static let patience: Int32 = 30_000

  /// Opens or creates the archive.
  package init(path: String) throws(HistoryError) {
    self.path = path
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX
    guard sqlite3_open_v2(path, &database, flags, nil) == SQLITE_OK else {
      let problem = database.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory"
      sqlite3_close(database)
      throw .cannotOpen(path: path, problem: problem)
    }
    sqlite3_busy_timeout(database, Self.patience)
    do throws(HistoryError) {
      try patiently { () throws(HistoryError) in try run("PRAGMA journal_mode=WAL") }
      try run("PRAGMA synchronous=NORMAL")
      try patiently { () throws(HistoryError) in try run(Self.schema) }
    } catch {
      let isForeign = sqlite3_errcode(database) == SQLITE_NOTADB
      sqlite3_close(database)
      database = nil
      if isForeign { throw .notAnArchive(path: path) }
      if case .failed(_, let problem) = error { throw .cannotOpen(path: path, problem: problem) }
      throw error
    }
  }

  deinit { sqlite3_close(database) }

  private static let schema = """
    CREATE TABLE IF NOT EXISTS runs(
      id TEXT NOT NULL, started_at_ms INTEGER NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
      verdict TEXT NOT NULL, host TEXT NOT NULL, folder TEXT NOT NULL, PRIMARY KEY(id, started_at_ms));
    CREATE TABLE IF NOT EXISTS figures(
      id TEXT NOT NULL, started_at_ms INTEGER NOT NULL, variant TEXT NOT NULL, key TEXT NOT NULL, value REAL NOT NULL,
      PRIMARY KEY(id, started_at_ms, variant, key)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS by_key ON figures(key, variant, started_at_ms);
    """

  /// Does `work` again while another writer is in the way. SQLite waits by itself in most cases, but says "busy" at once
  /// where two connections would wait for each other: when both turn a new file into a write-ahead one.
  private func patiently(_ work: () throws(HistoryError) -> Void) throws(HistoryError) {
    let clock = ContinuousClock()
    let end = clock.now + .milliseconds(Int64(Self.patience))
    while true {
      do throws(HistoryError) { return try work() } catch {
        guard case .busy = error, clock.now < end else { throw error }
        if sqlite3_get_autocommit(database) == 0 { try? run("ROLLBACK") }
        sqlite3_sleep(5)
      }
    }
  }

  /// A run of the archive.
  package struct Entry: Sendable, Equatable {
    package var id: String
    package var startedAtMilliseconds: Int64
    package var name: String
    package var version: String
    package var verdict: String
    package var host: String
    package var folder: String
  }

  /// One value of a figure.
  package struct Point: Sendable, Equatable {
    package var startedAtMilliseconds: Int64
    package var name: String
    package var version: String
    package var variant: String
    package var value: Double

    package init(startedAtMilliseconds: Int64, name: String, version: String, variant: String, value: Double) {
      self.startedAtMilliseconds = startedAtMilliseconds
      self.name = name
      self.version = version
      self.variant = variant
      self.value = value
    }
  }

  /// Adds a run with all its figures, whole or not at all. A run that is there already is put in its place again.
  package func add(_ summary: Summary, folder: String) throws(HistoryError) {
    let run = summary.tree["run"] ?? .null
    let id = run["id"]?.asString ?? ""
    let started = Int64(run["started_at_ms"]?.asInt ?? 0)
    try patiently { () throws(HistoryError) in try self.run("BEGIN IMMEDIATE") }
    do throws(HistoryError) {
      try execute("DELETE FROM figures WHERE id=? AND started_at_ms=?", [.text(id), .whole(started)])
      try execute(
        "INSERT OR REPLACE INTO runs(id, started_at_ms, name, version, verdict, host, folder) VALUES(?,?,?,?,?,?,?)",
        [
          .text(id), .whole(started), .text(run["name"]?.asString ?? ""), .text(run["version"]?.asString ?? ""),
          .text(summary.verdict.rawValue), .text(summary.tree["machine"]?["host"]?.asString ?? ""), .text(folder),
        ])
      for variant in summary.variants {
        let name = variant["name"]?.asString ?? ""
        for (key, value) in Self.numbers(variant, path: "") {
          try execute(
            "INSERT OR REPLACE INTO figures VALUES(?,?,?,?,?)",
            [.text(id), .whole(started), .text(name), .text(key), .real(value)])
        }
      }
      try self.run("COMMIT")
    } catch {
      try? self.run("ROLLBACK")
      throw error
    }
  }

  /// All runs, oldest first.
  package func list() throws(HistoryError) -> [Entry] {
    var entries: [Entry] = []
    try query("SELECT id, started_at_ms, name, version, verdict, host, folder FROM runs ORDER BY started_at_ms, id", []) { row in
      entries.append(
        Entry(
          id: row.text(0), startedAtMilliseconds: row.whole(1), name: row.text(2), version: row.text(3),
          verdict: row.text(4), host: row.text(5), folder: row.text(6)))
    }
    return entries
  }

  /// The values of one figure by time; of runs with one name and of one variant where these are given. Runs that are not
  /// to be trusted are left out.
  package func trend(key: String, name: String? = nil, variant: String? = nil) throws(HistoryError) -> [Point] {
    var sql = """
      SELECT f.started_at_ms, r.name, r.version, f.variant, f.value FROM figures f
      JOIN runs r ON r.id=f.id AND r.started_at_ms=f.started_at_ms
      WHERE f.key=? AND r.verdict IN ('passed', 'failed')
      """
    var values: [Value] = [.text(key)]
    if let name {
      sql += " AND r.name=?"
      values.append(.text(name))
    }
    if let variant {
      sql += " AND f.variant=?"
      values.append(.text(variant))
    }
    var points: [Point] = []
    try query(sql + " ORDER BY f.started_at_ms, f.id, f.variant", values) { row in
      points.append(
        Point(
          startedAtMilliseconds: row.whole(0), name: row.text(1), version: row.text(2), variant: row.text(3),
          value: row.real(4)))
    }
    return points
  }

  /// How many runs have a value of the figure but are partial or not to be trusted, so that no trend shows them.
  package func leftOut(key: String) throws(HistoryError) -> Int {
    var count: Int64 = 0
    let sql = """
      SELECT COUNT(DISTINCT f.id) FROM figures f JOIN runs r ON r.id=f.id AND r.started_at_ms=f.started_at_ms
      WHERE f.key=? AND r.verdict NOT IN ('passed', 'failed')
      """
    try query(sql, [.text(key)]) { count = $0.whole(0) }
    return Int(count)
  }

  /// All keys that have a value, for suggestions.
  package func keys() throws(HistoryError) -> [String] {
    var keys: [String] = []
    try query("SELECT DISTINCT key FROM figures ORDER BY key", []) { keys.append($0.text(0)) }
    return keys
  }

  private static func numbers(_ value: JSONValue, path: String) -> [(String, Double)] {
    guard case .object(let object) = value else { return [] }
    return object.pairs.flatMap { key, value -> [(String, Double)] in
      let place = path.isEmpty ? key : "\(path).\(key)"
      if key == "client" && path.isEmpty { return [] }
      if let number = value.asDouble { return [(place, number)] }
      if let yes = value.asBool { return [(place, yes ? 1 : 0)] }
      return numbers(value, path: place)
    }
  }

  private enum Value {
    case text(String)
    case whole(Int64)
    case real(Double)
  }

  private struct Row {
    let statement: OpaquePointer?

    func text(_ column: Int32) -> String { sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "" }
    func whole(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
    func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }
  }

  private func problem(_ code: Int32) -> HistoryError {
    if code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED { return .busy(path: path) }
    return .failed(path: path, problem: String(cString: sqlite3_errmsg(database)))
  }

  private func run(_ sql: String) throws(HistoryError) {
    let code = sqlite3_exec(database, sql, nil, nil, nil)
    if code != SQLITE_OK { throw problem(code) }
  }

  private func execute(_ sql: String, _ values: [Value]) throws(HistoryError) { try query(sql, values) { _ in } }

  private func query(_ sql: String, _ values: [Value], _ each: (Row) -> Void) throws(HistoryError) {
    var statement: OpaquePointer?
    var code = sqlite3_prepare_v2(database, sql, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    if code != SQLITE_OK { throw problem(code) }
    // SQLITE_TRANSIENT: SQLite copies the text before the call returns.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for (index, value) in values.enumerated() {
      let place = Int32(index + 1)
      switch value {
      case .text(let text): code = sqlite3_bind_text(statement, place, text, -1, transient)
      case .whole(let whole): code = sqlite3_bind_int64(statement, place, whole)
      case .real(let real): code = sqlite3_bind_double(statement, place, real)
      }
      if code != SQLITE_OK { throw problem(code) }
    }
    while true {
      code = sqlite3_step(statement)
      if code == SQLITE_DONE { return }
      if code != SQLITE_ROW { throw problem(code) }
      each(Row(statement: statement))
    }
  }
}
