import Foundation
import HabitStoreFleet

/// An area chart in SVG of the transactions that new stores lacked over time.
struct LagPlot {
    let lags: [FleetOverview.Lag]
    let clock: Clock

    private static let (left, right, top, bottom) = (52.0, 70.0, 8.0, 24.0)

    /// The chart; empty with fewer than two points in time.
    func svg(width: Double, height: Double, className: String) -> String {
        guard let first = lags.first?.time, let last = lags.last?.time, last > first else { return "" }
        let most = Double(max(1, lags.map(\.transactions).max() ?? 1))
        let (bottom, right) = (height - Self.bottom, width - Self.right)
        func x(_ time: Date) -> Double {
            Self.left + time.timeIntervalSince(first) / last.timeIntervalSince(first) * (right - Self.left)
        }
        func y(_ count: Int) -> Double { bottom - Double(count) / most * (bottom - Self.top) }
        func written(_ number: Double) -> String { Clock.rounded(number, 1) }
        var path = "M\(written(x(first))) \(written(bottom))"
        for lag in lags { path += "L\(written(x(lag.time))) \(written(y(lag.transactions)))" }
        path += "L\(written(right)) \(written(bottom))Z"
        return "<svg class=\"\(className)\" viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" "
            + "aria-label=\"How many transactions new stores lacked since \(clock.time(first)), \(FleetOverview.grouped(Int(most))) at most\">"
            + "<line class=\"grid\" x1=\"\(Self.left)\" x2=\"\(written(right))\" y1=\"\(written(bottom))\" y2=\"\(written(bottom))\"/>"
            + "<path class=\"area\" d=\"\(path)\"/>"
            + "<text class=\"tick\" x=\"\(Self.left - 6)\" y=\"\(Self.top + 8)\" text-anchor=\"end\">\(FleetOverview.grouped(Int(most)))</text>"
            + "<text class=\"tick\" x=\"\(Self.left - 6)\" y=\"\(written(bottom))\" text-anchor=\"end\">0</text>"
            + "<text class=\"tick\" x=\"\(Self.left)\" y=\"\(written(height - 7))\">\(clock.time(first))</text>"
            + "<text class=\"tick\" x=\"\(written(right))\" y=\"\(written(height - 7))\" text-anchor=\"end\">\(clock.time(last))</text></svg>"
    }
}
