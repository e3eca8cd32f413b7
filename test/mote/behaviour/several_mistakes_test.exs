defmodule Mote.Behaviour.SeveralMistakesTest do
  # All mistakes of a module are told at once, without those that only follow from others.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [module: 1]

  describe "several mistakes" do
    test "are told together, those of each definition, clause and line" do
      assert %Mote.CompileError{line: 4, description: description} =
               catch_error(
                 module("""
                 defactor a(b) do
                   1 ->
                     IO.puts(b)
                     spawn(b)
                   2 -> receive do x -> x end
                   3 -> send b, 1
                 end
                 defpure f(x), do: File.read(x)
                 """)
               )

      assert [first, second, third, fourth] = String.split(description, "\n")
      assert first =~ "IO.puts/1 is not available"
      assert second =~ ~r/^  .*test.ex:5: spawn is not available/
      assert third =~ ~r/^  .*test.ex:6: receive is not available/
      assert fourth =~ ~r/^  .*test.ex:9: File.read\/1 is not available/
    end

    test "of names as well" do
      assert %Mote.CompileError{line: 3, description: description} =
               catch_error(module("defactor a() do\n1 -> send b, 1\n2 -> f(1)\nend\ndefpure g(x), do: x + y"))

      assert ["undefined variable \"b\"" | others] = String.split(description, "\n")
      assert [f, y] = others
      assert f =~ "test.ex:4: " and f =~ "f/1"
      assert y =~ "test.ex:6: undefined variable \"y\""
    end

    test "of a behaviour that stashes, without those that only follow from others" do
      body = """
      defactor a(n) do
        1 -> stash(n)
        x -> become b(x)
      end
      defactor b(n) do
        _ -> become a(n)
      end
      """

      assert %Mote.CompileError{line: 3, description: "stash keeps the message" <> rest} =
               catch_error(module(body))

      refute rest =~ "capture, got"
    end

    test "of names in one clause, without those that only follow from others" do
      body = """
      defactor a(n) do
        {c, x} ->
          {y, z} = none(x)
          if z do
            undefined
            send c, other(y, z)
          end
          become n: nn
      end
      """

      assert %Mote.CompileError{line: 4, description: description} = catch_error(module(body))
      assert [none, undefined, other, nn] = String.split(description, "\n")
      assert none =~ "undefined function none/1"
      assert undefined =~ ~r/test.ex:6: undefined variable "undefined"/
      assert other =~ ~r/test.ex:7: undefined function other\/2/
      assert nn =~ ~r/test.ex:9: undefined variable "nn"/
    end

    test "of syntax and of names, whichever is found first" do
      body = """
      defactor a(n) do
        c -> send c, f(n) + g(n) + nn
      end
      defpure f(x, y \\\\ 1), do: IO.puts(x + y)
      defpurep g(x), do: x + f(x)
      defpurep h(x), do: spawn(x)
      """

      assert %Mote.CompileError{line: 3, description: description} = catch_error(module(body))

      # What only the definitions with mistakes call is not told to be unused, nor they themselves to be undefined.
      assert [nn, puts, spawn] = String.split(description, "\n")
      assert nn =~ ~s(undefined variable "nn")
      assert puts =~ ~r/test.ex:5: IO.puts/
      assert spawn =~ ~r/test.ex:7: spawn/
    end

    test "with the columns that the parser keeps" do
      source = """
      defmodule Mote.Compiled.Columns do
        use Mote.Behaviour
        defactor a(n) do
          {c, 1} -> send c, 1 + undefined
          {c, 2} -> send c, Enum.map(n, &other(&1))
          3 -> n |> IO.puts()
          4 -> create b(n)
        end
        defpure f(x), do: send(x, 1)
      end
      """

      quoted = Code.string_to_quoted!(source, file: "columns.ex", columns: true)
      error = catch_error(Code.compile_quoted(quoted, "columns.ex"))
      assert %Mote.CompileError{line: 6, column: 18} = error
      assert "columns.ex:6:18: IO.puts/1 is not available" <> _ = Exception.message(error)

      quoted =
        Code.string_to_quoted!(String.replace(source, "IO.puts()", "hd()"), file: "columns.ex", columns: true)

      error = catch_error(Code.compile_quoted(quoted, "columns.ex"))
      assert "columns.ex:4:27: undefined variable" <> _ = Exception.message(error)
      places = for [_, place] <- Regex.scan(~r/columns.ex:([0-9:]+): /, Exception.message(error)), do: place
      assert places == ["4:27", "5:36", "7:17", "9:21"]
    end

    test "are the same mistake once, and ten at most" do
      body = Enum.map_join(1..15, "\n", &"IO.puts(#{&1})")
      error = catch_error(module("defpure f() do\n#{body}\nend"))
      lines = String.split(error.description, "\n")
      assert length(lines) == 11
      assert List.last(lines) == "  and 5 more"
    end
  end
end
