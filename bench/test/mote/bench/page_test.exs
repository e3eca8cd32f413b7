defmodule Mote.Bench.PageTest do
  # The report: every program has its plot and its table, or its error, and the page needs nothing else.
  use ExUnit.Case, async: true

  alias Mote.Bench.{Computer, Measure, Page, Program, Suite}
  alias Mote.Measure.Table

  defmodule Tiny do
    use Program,
      title: "n messages <to> \"itself\" & back",
      param: :n,
      defaults: [10, 20, 40],
      small: 5,
      metric: :ns_per_message,
      expected: :done

    defmodule Actors do
      use Mote.Behaviour, errors: :undefined

      defactor loop(parent) do
        0 -> send parent, :done
        n -> send self(), n - 1
      end
    end

    def mote(machine, n),
      do: [run: fn _ -> answer(fn -> Mote.send(Mote.create(machine, Actors.loop(self())), n) end) end]
  end

  defmodule Pair do
    use Program,
      title: "a message there and back",
      param: :depth,
      defaults: [1],
      small: 1,
      metric: :us_per_round_trip,
      expected: :done,
      processes: 1

    def mote(machine, n), do: Tiny.mote(machine, n)
    def beam(_n), do: [run: fn _ -> answer(fn -> send(self(), :done) end) end]
  end

  defmodule Spread do
    use Program,
      title: "as a histogram",
      param: :n,
      defaults: [3, 7],
      small: 1,
      metric: :ns_per_message,
      plot: [kind: :histogram],
      count: &Tiny.count/1,
      expected: &Tiny.expected/1

    defdelegate mote(machine, n), to: Tiny
  end

  # Is right for small sizes only.
  defmodule Failing do
    use Program,
      title: "fails",
      param: :n,
      defaults: [5, 6, 7],
      small: 1,
      metric: :ns_per_message,
      plot: [over: :count, kind: :bars],
      expected: :done

    def mote(_machine, n), do: [run: fn _ -> if n < 6, do: :done, else: :wrong end]
  end

  defmodule Exiting do
    use Program, title: "exits", param: :n, defaults: [1], small: 1, metric: :ns_per_message
    def expected(_), do: raise("no expectation")
    def mote(_machine, _n), do: raise("no way")
  end

  defmodule Quitting do
    use Program, title: "quits", param: :n, defaults: [1], small: 1, metric: :ns_per_message, expected: :done
    def count(_n), do: exit(:no_count)
    def mote(_machine, _n), do: [run: fn _ -> :done end]
  end

  @moduletag :capture_log

  defp run(programs, opts \\ []), do: Suite.run(programs, [where: :here, runs: 2] ++ opts)

  # What several tests look at is measured once.
  setup_all do
    %{fine: run([Tiny, Pair]), mixed: run([Failing, Exiting, Quitting, Tiny])}
  end

  defp page(entries), do: Page.html(entries, [{"Processor", "A & B"}], "today")

  defp count(text, part), do: length(String.split(text, part)) - 1

  test "two programs have a plot and a table each, and need no network", %{fine: entries} do
    assert [%Suite{program: Tiny, sizes: [10, 20, 40], error: nil}, %Suite{program: Pair, error: nil}] =
             entries

    html = page(entries)
    assert count(html, "<svg ") == 2 and count(html, "</svg>") == 2
    # One is the computer's, one the overview; the medians of each, and all figures.
    assert count(html, "<table>") == 6 and count(html, "<details>") == 2

    assert html =~
             "<tr><th>n</th><th>ns per message: Mote, 1 thread</th><th>ns per message: Mote, all cores</th>"

    assert html =~ ~r/<tr><td>20<\/td><td>[\d.,]+ ns<\/td><td>[\d.,]+ ns<\/td>/

    assert html =~
             ~r/<a href="#pair">pair<\/a><\/td><td>depth 1<\/td><td class="left">us per round trip<\/td><td>[\d.,]+ us<\/td><td>/

    for name <- ["tiny", "pair"], do: assert(html =~ ~s(<h2>#{name}</h2>) and html =~ ~s(<a href="##{name}">))
    assert html =~ "n messages &lt;to&gt; &quot;itself&quot; &amp; back"
    assert html =~ "A &amp; B" and html =~ "Mote, 1 thread" and html =~ "BEAM processes"
    assert html =~ "<th class=\"left\">metric</th>" and html =~ "<td class=\"left\">ns per message</td>"

    for loaded <- ["<script", "<link", "<img", "@import", "url(", "src="], do: refute(html =~ loaded)
    # The one address is the name of what SVG is.
    assert html |> String.replace("http://www.w3.org/2000/svg", "") |> String.contains?("http") == false
  end

  test "its SVGs are well formed, with a line for every variant", %{fine: [tiny, _pair]} do
    html = page([tiny])
    [svg] = Regex.run(~r/<svg .*<\/svg>/s, html)
    texts = svg |> Mote.Xml.parse!() |> Mote.Xml.texts()

    assert "tiny" in texts and "Mote, 1 thread" in texts and "Mote, all cores" in texts and
             "ns per message" in texts
  end

  test "what is written is what people say" do
    entry = fn program, variant, sizes ->
      measure =
        &%Measure{bench: "", variant: variant, param: &1, metric: program.about().metric, values: [1.0]}

      %Suite{program: program, sizes: sizes, measures: Enum.map(sizes, measure)}
    end

    alias Mote.Bench.Programs.{ErfcBomb, NorthwindThreads}
    html = page([entry.(ErfcBomb, :mote_st, [3, 5]), entry.(NorthwindThreads, :threads_2, [2_000])])
    for said <- ["leaves", "us per leaf: Mote, 1 thread", "threads 2"], do: assert(html =~ said)
    for said <- ["leafs", "threads_2"], do: refute(html =~ said)
  end

  test "a histogram is of the greatest size, with runs enough for one" do
    [%Suite{sizes: [3, 7], measures: measures}] = entries = run([Spread])
    for %{metric: :ns_per_message, values: values} <- measures, do: assert(length(values) == 25)
    html = page(entries)
    assert html =~ "</svg>" and html =~ "\nruns\n" and html =~ "\nns per message\n"
    refute html =~ "No plot"
  end

  test "a program that fails is there with its error, and the others go on", %{mixed: entries} do
    assert [%Suite{sizes: [5], left_out: [6, 7], error: "failing with n 6 on mote_st gave :wrong" <> _} | _] =
             entries

    assert [_, %Suite{sizes: [], left_out: [1], error: error}, quitting, %Suite{error: nil, sizes: [_, _, _]}] =
             entries

    assert error =~ "no way"
    assert %Suite{sizes: [], error: "** (exit) :no_count" <> _} = quitting
    html = page(entries)
    assert count(html, "<svg ") == 2
    assert html =~ ~s(<p class="error">failing with n 6 on mote_st gave :wrong, and :done is right</p>)
    assert html =~ "Not measured: n = 6, 7" and html =~ "no way"
  end

  test "without time nothing is measured, with enough of it all" do
    assert [%Suite{sizes: [], left_out: [10, 20, 40]}, %Suite{left_out: [1]}] =
             entries = run([Tiny, Pair], seconds: 0)

    assert page(entries) =~ "Not measured: n = 10, 20, 40"
    assert [%Suite{sizes: [10, 20, 40], left_out: []}] = run([Tiny], seconds: 600)
  end

  test "all sizes are measured when asked for, and whoever waits hears of each program" do
    me = self()

    [%Suite{} = entry] =
      run([Failing], full: true, each: &send(me, {:done, length(&1)}), progress: &send(me, {:said, &1}))

    assert entry.sizes == [5]
    assert_received {:done, 1}
    assert_received {:said, "failing: failing with n 6" <> _}
  end

  test "the table of the runs has all of them", %{mixed: entries} do
    table = Page.runs(entries)
    assert table.columns == ["program" | Enum.map(Measure.columns(), &to_string/1)]

    assert table
           |> Table.filter(program: "tiny", param: 20, variant: :mote_st, metric: :ns_per_message)
           |> Map.get(:rows)
           |> length() == 2

    assert {:ok, %Table{rows: rows}} = table |> Table.to_csv() |> Table.from_csv()
    assert rows == table.rows
  end

  test "the computer is described" do
    described = Computer.describe()
    for {_, value} <- described, do: assert(value != "")
    names = for {name, _} <- described, do: name
    assert ~w(Processor Cores System OTP Elixir Mote) -- names == []
  end

  describe "mix mote.report" do
    @describetag :tmp_dir

    # It builds the Rust programs, and so waits for whoever builds crates at that moment.
    @tag timeout: 900_000
    test "writes the page and the runs", %{tmp_dir: dir} do
      output =
        ExUnit.CaptureIO.capture_io(:stderr, fn ->
          ExUnit.CaptureIO.capture_io(fn ->
            Mix.Tasks.Mote.Report.run(["erfc_dsl", "--runs", "1", "--to", dir])
          end)
        end)

      assert output =~ "erfc_dsl"
      html = File.read!(Path.join(dir, "index.html"))
      assert html =~ "<h2>erfc_dsl</h2>" and html =~ "</svg>" and html =~ "Processor"

      assert {:ok, %Table{rows: [["erfc_dsl" | _] | _]}} =
               dir |> Path.join("runs.csv") |> File.read!() |> Table.from_csv()
    end

    test "explains mistakes", %{tmp_dir: dir} do
      File.write!(Path.join(dir, "file"), "")

      for {argv, message} <- [
            {["nothing"], ~r/there is no bench program "nothing": mix mote.bench lists them/},
            {["--fast"], ~r/there is no option --fast/},
            {["--runs", "few"], ~r/there is no option --runs, or it needs a value/},
            {["--runs", "0"], ~r/--runs must be at least 1, got: 0/},
            {["maps", "--to", Path.join(dir, "file/report")],
             ~r/cannot write the report: could not make directory/}
          ] do
        assert_raise Mix.Error, message, fn -> Mix.Tasks.Mote.Report.run(argv) end
      end
    end
  end
end
