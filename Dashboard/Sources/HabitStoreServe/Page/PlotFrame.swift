import Foundation

/// The coordinate system of a chart, with its grid and labels.
struct PlotFrame {
    private static let (left, right, top, bottom) = (52.0, 70.0, 8.0, 24.0)
    private static let labelHeight = 13.0

    private let width: Double
    private let height: Double
    private let times: ClosedRange<Double>
    /// Powers of ten, in seconds.
    private let decades: ClosedRange<Int>

    init(width: Double, height: Double, times: [Double], values: [Double]) {
        (self.width, self.height) = (width, height)
        let first = times.min() ?? 0
        self.times = first...max(first + 60, times.max() ?? 0)
        let measured = values.filter { $0 > 0 && $0.isFinite }
        let low = max(-7, Int(log10(measured.min() ?? 0.001).rounded(.down)))
        decades = low...min(4, max(low + 1, Int(log10(measured.max() ?? 0.01).rounded(.up))))
    }

    private func x(_ time: Double) -> Double {
        Self.left + (time - times.lowerBound) / (times.upperBound - times.lowerBound) * (width - Self.left - Self.right)
    }

    private func y(_ seconds: Double) -> Double {
        let span = Double(decades.upperBound - decades.lowerBound)
        let share = (log10(max(seconds, 1e-9)) - Double(decades.lowerBound)) / span
        return height - Self.bottom - min(1, max(0, share)) * (height - Self.top - Self.bottom)
    }

    private static func written(_ number: Double) -> String { Clock.rounded(number, 1) }

    /// The grid lines with their labels.
    func grid(_ clock: Clock) -> String {
        var text = ""
        for decade in decades {
            let place = y(pow(10, Double(decade)))
            text +=
                "<line class=\"grid\" x1=\"\(Self.left)\" x2=\"\(Self.written(width - Self.right))\" y1=\"\(Self.written(place))\" "
                + "y2=\"\(Self.written(place))\"/><text class=\"tick\" x=\"\(Self.left - 6)\" y=\"\(Self.written(place + 4))\" "
                + "text-anchor=\"end\">\(Self.decadeText(decade))</text>"
        }
        for time in ticks {
            let place = x(time)
            text +=
                "<line class=\"grid\" x1=\"\(Self.written(place))\" x2=\"\(Self.written(place))\" y1=\"\(Self.top)\" "
                + "y2=\"\(Self.written(height - Self.bottom))\"/><text class=\"tick\" x=\"\(Self.written(place))\" "
                + "y=\"\(Self.written(height - 7))\" text-anchor=\"middle\">\(hour(time, clock))</text>"
        }
        return text
    }

    private func hour(_ time: Double, _ clock: Clock) -> String {
        String(clock.time(Date(timeIntervalSince1970: time)).suffix(5))
    }

    private static func decadeText(_ decade: Int) -> String {
        switch decade {
        case ..<(-3): "\(Int(pow(10, Double(decade + 6)).rounded())) µs"
        case ..<0: "\(Int(pow(10, Double(decade + 3)).rounded())) ms"
        default: "\(Int(pow(10, Double(decade)).rounded())) s"
        }
    }

    /// About five round points in time.
    private var ticks: [Double] {
        let steps = [60.0, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400]
        let most = max(2, ((width - Self.left - Self.right) / 90).rounded(.down))
        let length = times.upperBound - times.lowerBound
        let step = steps.first { length / $0 <= most } ?? 86_400
        return Array(stride(from: (times.lowerBound / step).rounded(.up) * step, through: times.upperBound, by: step))
    }

    /// A line through points, with gaps where no writes happened for long.
    func line(_ className: String, _ points: [(time: Double, seconds: Double)]) -> String {
        guard !points.isEmpty else { return "" }
        var path = ""
        var last: Double?
        let gap = max(900, (times.upperBound - times.lowerBound) / 24)
        for (time, seconds) in points {
            let isNew = last.map { time - $0 > gap } ?? true
            path += "\(isNew ? "M" : "L")\(Self.written(x(time))) \(Self.written(y(seconds)))"
            // Draws a single point as a dot, through the line's round ends.
            if isNew { path += "h0.1" }
            last = time
        }
        return "<path class=\"line \(className)\" d=\"\(path)\"/>"
    }

    /// Names at the ends of the lines, so that colours are not needed; close ones are moved apart.
    func labels(_ ends: [(name: String, seconds: Double)]) -> String {
        var text = ""
        var lowest = -Double.infinity
        for (name, seconds) in ends.sorted(by: { y($0.seconds) < y($1.seconds) }) {
            let place = max(y(seconds) + 4, lowest + Self.labelHeight)
            lowest = place
            text +=
                "<text class=\"end \(name)\" x=\"\(Self.written(width - Self.right + 6))\" y=\"\(Self.written(place))\">\(name)</text>"
        }
        return text
    }
}
