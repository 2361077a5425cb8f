// A summary becomes the report files of its folder. All of them are told from the summary's tree and the files beside
// it, so that they can be made again at any time.

import Foundation
package import Analysis
internal import Primitives

package enum ReportFiles {
  /// `summary.json`, `summary.csv`, `report.md`, `report.html`, and `junit.xml` where there are gates. What can be
  /// written is written (`summary.json` only if asked for: one of another version is kept); the first error is thrown at the end.
  package static func write(_ summary: Summary, in folder: String, withSummary: Bool = true) throws(ReportFileError) {
    var first: ReportFileError?
    func put(_ name: String, _ text: String) {
      do throws(ReportFileError) { try OutputFile.replace(text, to: "\(folder)/\(name)") } catch { first = first ?? error }
    }
    if withSummary { put("summary.json", summary.tree.text(pretty: true)) }
    put("summary.csv", SummaryTable.csv(summary))
    let charts = ChartData.read(folder: folder, variants: summary.variants.compactMap { $0["name"]?.asString })
    put("report.md", MarkdownReport.text(summary, charts: charts))
    put("report.html", HTMLReport.text(summary, charts: charts))
    if !summary.gates.isEmpty { put("junit.xml", JUnitReport.text(summary)) }
    if let first { throw first }
  }
}
