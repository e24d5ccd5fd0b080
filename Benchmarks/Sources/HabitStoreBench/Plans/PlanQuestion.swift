import CYardstick
import Foundation

/// A query: its kind and its values. A kind reads only the values that it needs.
struct PlanQuestion {
    /// The regular expression for notes, valid in Swift and POSIX.
    static let regex = "rain [0-9]+$"

    let plan: Plan
    let habit: UUID
    let habits: [UUID]
    let from: Date
    let to: Date
    let text: String
    let number: Double
    let limit: Int

    /// The same query for the yardstick.
    private(set) var byHand = cy_question()

    /// The queries of one round.
    static func all(_ plan: Plan, _ data: BenchData) -> [PlanQuestion] {
        (0..<plan.repetitions).map { PlanQuestion(plan, data, number: $0) }
    }

    private init(_ plan: Plan, _ data: BenchData, number place: Int) {
        self.plan = plan
        // Some distance apart, so that neighbours do not share pages.
        let range = data.ranges[place * 37 % data.ranges.count]
        habit = range.habit
        switch plan {
        case .rangeLimit:
            // Long enough that the limit ends it.
            from = data.firstDate.addingTimeInterval(Double(place) * 86_400)
            to = from.addingTimeInterval(4 * 365 * 86_400)
        default: (from, to) = (range.from, range.to)
        }
        let count = Int(cy_membership_count)
        habits = (0..<count).map { data.habits[(place * count + $0) * 7 % data.habits.count].id }
        text =
            switch plan {
            case .prefix: ["Run 1", "Walk 2", "Clean", "Practise 10"][place % 4]
            case .joinName: data.habits[place * 5 % data.habits.count].name
            case .anyTag: data.tags[place % data.tags.count].name
            default: "rain"
            }
        number =
            switch plan {
            case .anyEntry: 124.9
            case .arithmetic: 240
            default: 60
            }
        limit = 50
        byHand = makeByHand()
    }

    private func makeByHand() -> cy_question {
        var made = cy_question()
        made.plan = cy_plan(rawValue: plan.rawValue)
        withUnsafeMutableBytes(of: &made.habit) { $0.storeBytes(of: habit.uuid, as: uuid_t.self) }
        withUnsafeMutableBytes(of: &made.habits) { bytes in
            for (place, id) in habits.enumerated() {
                bytes.storeBytes(of: id.uuid, toByteOffset: 16 * place, as: uuid_t.self)
            }
        }
        made.from = from.timeIntervalSinceReferenceDate
        made.to = to.timeIntervalSinceReferenceDate
        made.number = number
        made.limit = Int64(limit)
        // The last byte stays zero.
        withUnsafeMutableBytes(of: &made.text) { $0.copyBytes(from: text.utf8.prefix($0.count - 1)) }
        return made
    }
}
