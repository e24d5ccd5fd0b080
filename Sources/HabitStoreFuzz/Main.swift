import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting

/// Asks all stores random queries, for a time or for a number, and exits with 1 when one gives another answer.
@main
enum Main {
    static func main() {
        do {
            let options = try FuzzOptions(Array(CommandLine.arguments.dropFirst()))
            if options.showsHelp { return print(FuzzOptions.help) }
            exit(try FuzzCommand(options).run())
        } catch let error as FuzzOptions.Wrong {
            FileHandle.standardError.write(Data("\(error.message)\n\n\(FuzzOptions.help)\n".utf8))
            exit(64)
        } catch {
            FileHandle.standardError.write(Data("habitstore-fuzz: \(error)\n".utf8))
            exit(2)
        }
    }
}
