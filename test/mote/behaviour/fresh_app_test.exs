defmodule Mote.Behaviour.FreshAppTest do
  # A user's application, as mix compiles it with --warnings-as-errors: what is right is not warned of, in whatever release
  # of Elixir, and what is odd is, where it stands.
  use ExUnit.Case, async: true

  @moduletag :tmp_dir

  @app Path.expand("../../fixtures/fresh_app", __DIR__)

  setup %{tmp_dir: dir} do
    File.cp_r!(@app, dir)

    # Elixir asks for it from then on, and did not know it once.
    if Version.match?(System.version(), ">= 1.20.0"), do: pin_sizes(Path.join(dir, "lib/fresh_app.ex"))
    # As it was compiled.
    [plots, tls] = for option <- [:plots, :tls], do: Application.get_env(:mote, option, false)
    config = "import Config\nconfig :mote, plots: #{plots}, tls: #{tls}\n"
    File.mkdir_p!(Path.join(dir, "config"))
    File.write!(Path.join(dir, "config/config.exs"), config)
  end

  defp pin_sizes(file),
    do: File.write!(file, file |> File.read!() |> String.replace(~r/size\((size|bits)\)/, "size(^\\1)"))

  # Mote and what it needs is where it is compiled already.
  defp compile(dir), do: mix(dir, ["compile", "--warnings-as-errors"])

  defp mix(dir, arguments) do
    libraries = :code.lib_dir(:mote) |> to_string() |> Path.dirname()
    env = [{"MIX_ENV", "dev"}, {"ERL_LIBS", libraries}, {"MIX_BUILD_PATH", nil}]
    System.cmd("mix", arguments, cd: dir, env: env, stderr_to_stdout: true)
  end

  test "one of everything is not warned of", %{tmp_dir: dir} do
    assert {output, 0} = compile(dir)
    refute output =~ "warning"
  end

  # What is imported has no file yet when it is compiled for the first time, and has an old one when it has changed.
  test "what a module imports is that of the same run of mix", %{tmp_dir: dir} do
    file = Path.join(dir, "lib/prices.ex")
    assert {_, 0} = compile(dir)
    assert asked(dir) =~ ~s({"119 euros", ~D[2020-03-01], "[#Sum<119>]"})

    # In files of their own, of which the second does not change any more.
    [prices, till] = file |> File.read!() |> String.split(~r/(?=defmodule FreshApp.Till)/)
    File.write!(Path.join(dir, "lib/a_till.ex"), till)

    for {percent, seconds} <- [{7, 10}, {8, 20}] do
      File.write!(file, String.replace(prices, "@percent 19", "@percent #{percent}"))
      File.touch!(file, System.os_time(:second) + seconds)
      assert {_, 0} = compile(dir)
      assert asked(dir) =~ ~s({"#{100 + percent} euros", ~D[2020-03-01], "[#Sum<#{100 + percent}>]"})
    end
  end

  defp asked(dir) do
    ask =
      "{:ok, m} = Mote.start_link(); a = Mote.create(m, FreshApp.Till.till(0)); " <>
        "IO.inspect(Mote.ask!(a, {:sale, 100, ~D[2020-02-16]}))"

    {output, 0} = mix(dir, ["run", "-e", ask])
    output
  end

  test "what is odd is told of with its place, and fails", %{tmp_dir: dir} do
    file = Path.join(dir, "lib/fresh_app/odd.ex")
    File.mkdir_p!(Path.dirname(file))

    for {body, {line, column}, said} <- [
          {"defpure f(a, odd), do: a", {4, 16}, ~s(variable "odd" is unused)},
          {"defactor f(a) do\n    _ -> send a, 1\n    1 -> send a, 2\n  end", {6, 7},
           "this clause cannot match because a previous clause at line 5 always matches"},
          {"defpure f(a), do: FreshApp.Missing.f(a)", {4, 38}, "FreshApp.Missing.f/1 is undefined"}
        ] do
      File.write!(file, "defmodule FreshApp.Odd do\n  use Mote.Behaviour\n\n  #{body}\nend\n")
      assert {output, status} = compile(dir)
      assert status != 0, output
      assert output =~ "warning: "
      assert output =~ said
      assert output =~ "lib/fresh_app/odd.ex:#{line}"

      # Later releases show the line, and the place in it.
      if Version.match?(System.version(), ">= 1.16.0"),
        do: assert(output =~ ~r/│#{String.duplicate(" ", column)}~+\n/)
    end
  end
end
