import Foundation
import HabitStoreMacros

@Model
package struct Notebook {
    @Unique package var name: String
    @ToMany(inverse: \Note.notebook, deleteRule: .cascade) package var notes: [Note]
}
