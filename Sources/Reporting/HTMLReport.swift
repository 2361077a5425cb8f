package import Analysis
package enum HTMLReport {
  package static func text(_ summary: Summary, charts: ChartData) -> String { "" }
}
