import Foundation
import HabitStoreFleet
import HabitStoreRollout

/// A line chart in SVG of how long writes took, for old and new stores, on a logarithmic scale. It contains only numbers and fixed words.
struct Plot {
    /// One side's values in a period.
    struct Point: Equatable {
        let time: Double
        let p50: Double
        let p99: Double
    }

    /// The users at `off`, who use only the old store, and those whom the new store serves.
    let old: [Point]
    let new: [Point]
    private let clock: Clock

    /// - Parameter writes: in order of time.
    init(_ writes: [FleetWrites], _ clock: Clock) {
        self.clock = clock
        old = Self.points(writes.filter { $0.stage == .off })
        new = Self.points(writes.filter { $0.stage.authority == .new })
    }

    /// The most points of a line.
    private static let mostPoints = 240

    /// Combines several stages and periods into at most ``mostPoints`` points: the p50 is weighted by the number of writes, the p99 is the worst one.
    private static func points(_ writes: [FleetWrites]) -> [Point] {
        guard let first = writes.first?.time.timeIntervalSince1970, let last = writes.last?.time.timeIntervalSince1970
        else {
            return []
        }
        let width = max(1, (last - first) / Double(mostPoints))
        var places: [Int: [FleetWrites]] = [:]
        for part in writes { places[Int((part.time.timeIntervalSince1970 - first) / width), default: []].append(part) }
        return places.sorted { $0.key < $1.key }.map { _, parts in
            let count = parts.reduce(0.0) { $0 + Double(max(1, $1.count)) }
            return Point(
                time: parts.map(\.time.timeIntervalSince1970).max() ?? first,
                p50: parts.reduce(0.0) { $0 + $1.p50Seconds * Double(max(1, $1.count)) } / count,
                p99: parts.map(\.p99Seconds).max() ?? 0
            )
        }
    }

    /// Whether there is anything to draw.
    var isEmpty: Bool { old.isEmpty && new.isEmpty }

    /// The chart.
    ///
    /// - Parameters:
    ///   - width: in the drawing's units; a letter is about seven wide.
    ///   - className: the class for the style sheet.
    func svg(width: Double, height: Double, className: String) -> String {
        guard !isEmpty else { return "" }
        let frame = PlotFrame(
            width: width,
            height: height,
            times: (old + new).map(\.time),
            values: (old + new).flatMap { [$0.p50, $0.p99] }
        )
        var text =
            "<svg class=\"\(className)\" viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" "
            + "aria-label=\"How long writes took in the old and the new store, over the last day; the figures are in the table\">"
        text += frame.grid(clock)
        for (name, points) in [("old", old), ("new", new)] {
            text += frame.line("\(name) p50", points.map { ($0.time, $0.p50) })
            text += frame.line("\(name) p99", points.map { ($0.time, $0.p99) })
        }
        text += frame.labels(
            [("old", old), ("new", new)].flatMap { name, points in
                points.last.map { [("\(name) p99", $0.p99), ("\(name) p50", $0.p50)] } ?? []
            }
        )
        return text + "</svg>"
    }
}
