// A folder's `record.json` becomes a RunRecord again.

package import Primitives
package import Recording

package enum StoredRecord {
  package static func read(_ folder: String) throws(ReportFileError) -> RunRecord {
    let path = "\(folder)/record.json"
    do {
      return try RecordFile.record(try JSONDocument.read(path))
    } catch let error as ReportFileError {
      throw error
    } catch let error as RecordFile.Problem {
      throw .badData(path: path, problem: error.message)
    } catch {
      throw .badData(path: path, problem: "\(error)")
    }
  }
}

package enum JSONDocument {
  /// A file of our own making as JSON.
  package static func read(_ path: String, limit: Int = 256 << 20) throws(ReportFileError) -> JSONValue {
    let bytes = try OutputFile.contents(path, limit: limit)
    do {
      return try JSONReader.read(bytes)
    } catch {
      throw .badData(path: path, problem: "not JSON: line \(error.line), column \(error.column): \(error.message)")
    }
  }
}
