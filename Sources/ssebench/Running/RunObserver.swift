// Who watches a run from outside it.

import Recording
import Reporting

/// Someone who follows a run while it goes on: gates that may end it, a dashboard, a metrics endpoint.
protocol RunObserver: AnyObject {
  func second(_ row: TimeSeriesRow, variant: VariantRecord, record: IntervalRecord)
  func session(_ record: SessionRecord)
  func disconnected(_ record: DisconnectRecord)
  /// A hopeless run is to end.
  var wantsEnd: Bool { get }
}
