import Foundation
import HabitStoreFleet
import HabitStoreRollout

/// How long writes took, old beside new, over time: lines on a logarithmic scale, in SVG. All of it is numbers and words of the program.
struct Plot {
    /// A stretch of time of one side.
    struct Point: Equatable {
        let time: Double
        let p50: Double
        let p99: Double
    }

    /// The users whom the old store alone serves and writes for, who are at `off`, or those whom the new one serves.
    let old: [Point]
    let new: [Point]
    private let clock: Clock

    /// - Parameter writes: in the order of time.
    init(_ writes: [FleetWrites], _ clock: Clock) {
        self.clock = clock
        old = Self.points(writes.filter { $0.stage == .off })
        new = Self.points(writes.filter { $0.stage.authority == .new })
    }

    /// How many points a line has at most.
    private static let mostPoints = 240

    /// Brings several stages, and more points than there is room for, to one: p50 by the number of writes, and the worst p99.
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

    /// The plot.
    ///
    /// - Parameters:
    ///   - width: in the units of the drawing, of which a letter takes some seven.
    ///   - className: what the style sheet knows it by.
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
            + "aria-label=\"How long writes took, old beside new, over the last day; the figures are in the table\">"
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
