defmodule Mote.TenMinutesTest do
  # What "Mote in ten minutes" tells a newcomer to do: a project by `mix new`, its files, its tests and what is typed into IEx.
  # Only where Mote comes from differs: from this build, and not from Hex.
  use ExUnit.Case, async: false

  import Mote.Eventually

  @guide "guides/ten-minutes.md"
  @moduletag :capture_log
  @moduletag :tmp_dir

  test "the guide leads to a service that works", %{tmp_dir: dir} do
    assert {_, 0} = mix(["new", "hits", "--sup"], dir)
    project = Path.join(dir, "hits")
    files = for {path, text} <- Mote.Guide.files(@guide), do: put(path, text, project)
    use_this_build(project)

    assert {_, 0} = mix(["test", "--no-deps-check"], project)
    code = Enum.filter(files, &String.starts_with?(&1, ["lib/", "test/"]))
    assert {_, 0} = mix(["format", "--check-formatted" | code], project)

    serve(project)
    :telemetry.attach(:ten_minutes, [:mote, :sponsor, :stats], &__MODULE__.tell/4, self())
    on_exit(fn -> :telemetry.detach(:ten_minutes) end)
    assert Mote.Guide.run(@guide) == 4

    # The guide's own handler has had this event before. One that had failed would be detached.
    assert_receive {:ran, Hits.Machine}, 60_000
    assert Enum.any?(:telemetry.list_handlers([:mote, :sponsor, :stats]), &(&1.id == Hits.Telemetry))

    # A machine that failed is replaced, and so is the directory. The counts are gone.
    machine = Process.whereis(Hits.Machine)
    Process.exit(machine, :kill)
    assert eventually(fn -> machine != Process.whereis(Hits.Machine) and fresh?() end)
  end

  def tell(_event, %{turns: turns}, %{name: name}, test), do: if(turns > 0, do: send(test, {:ran, name}))

  defp fresh? do
    apply(Hits, :visits, ["/"]) == {:ok, 0}
  rescue
    Mote.Error -> false
  end

  # What the guide shows of mix.exs is a function of it; every other file is shown as a whole.
  defp put("mix.exs", deps, project) do
    path = Path.join(project, "mix.exs")

    deps =
      String.replace(
        deps,
        ~s({:mote, "~> 0.1"}),
        inspect({:mote, path: File.cwd!(), compile: false})
      )

    indented = String.replace(deps, ~r/^(?=.)/m, "  ")
    before = File.read!(path)
    text = Regex.replace(~r/^  defp deps do\n.*?^  end\n/ms, before, fn _ -> indented end)
    assert text =~ "compile: false"
    File.write!(path, text)
    "mix.exs"
  end

  defp put(path, text, project) do
    to = Path.join(project, path)
    File.mkdir_p!(Path.dirname(to))
    File.write!(to, text)
    path
  end

  # Its dependencies are compiled already, with the configuration of these tests.
  defp use_this_build(project) do
    configured = Application.get_all_env(:mote)

    put(
      "config/config.exs",
      "import Config\nconfig :mote, #{inspect(configured, limit: :infinity)}\n",
      project
    )

    built = Path.join(Mix.Project.build_path(), "lib")
    to = Path.join(project, "_build/test/lib")
    File.mkdir_p!(Path.join(to, "mote/ebin"))

    for part <- ~w(telemetry rustler rustler_precompiled mote/priv), do: link(built, part, to)

    for beam <- Path.wildcard("mote/ebin/*.beam" |> Path.expand(built)),
        do: link(built, Path.relative_to(beam, built), to)

    # Without what only Mote's own tests start.
    {:ok, [{:application, :mote, about}]} = :file.consult(Path.join(built, "mote/ebin/mote.app"))

    about =
      Keyword.update!(about, :applications, &(&1 -- [:stream_data, :benchee, :kino, :phoenix_live_dashboard]))

    app = :io_lib.format("~tp.~n", [{:application, :mote, about}])
    File.write!(Path.join(to, "mote/ebin/mote.app"), app)
  end

  defp link(built, part, to), do: File.ln_s!(Path.join(built, part), Path.join(to, part))

  defp serve(project) do
    ebin = Path.join(project, "_build/test/lib/hits/ebin")
    Code.prepend_path(ebin)

    on_exit(fn ->
      Application.stop(:hits)
      :telemetry.detach(Hits.Telemetry)
      Application.unload(:hits)
      Code.delete_path(ebin)

      for module <- [Hits, Hits.Application, Hits.Page, Hits.Telemetry],
          do: :code.delete(module) && :code.purge(module)
    end)

    assert {:ok, [:hits]} = Application.ensure_all_started(:hits)
  end

  defp mix(arguments, directory) do
    env = [{"MIX_ENV", "test"}, {"MIX_BUILD_PATH", nil}, {"MIX_EXS", nil}, {"MOTE_DEPS", "offline"}]
    System.cmd("mix", arguments, cd: directory, env: env, stderr_to_stdout: true)
  end
end
