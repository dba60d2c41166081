"""Where compiled code is kept, and when it is valid."""

from streamgauge.simulation import compiling


def fresh(monkeypatch, here):
    monkeypatch.setattr(compiling, "_HERE", here)
    compiling.content.cache_clear()
    compiling.folder.cache_clear()


def forget():
    compiling.content.cache_clear()
    compiling.folder.cache_clear()


def test_code_is_valid_for_the_content_of_every_kernel_file(monkeypatch, tmp_path):
    kernel, other = tmp_path / "kernel.py", tmp_path / "figures.py"
    kernel.write_text("from streamgauge.simulation.compiling import compiled\n")
    other.write_text("x = 1\n")
    fresh(monkeypatch, tmp_path)
    first = compiling.content()
    other.write_text("x = 2\n")
    compiling.content.cache_clear()
    assert compiling.content() == first
    kernel.write_text("from streamgauge.simulation.compiling import inlined\n")
    compiling.content.cache_clear()
    assert compiling.content() != first
    forget()


def test_code_is_kept_beside_the_package_or_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    fresh(monkeypatch, tmp_path)
    assert compiling.folder() == tmp_path / "__pycache__"
    assert list((tmp_path / "__pycache__").iterdir()) == []
    # A file where the folder should be stands for a package that cannot be written.
    (tmp_path / "file").write_text("")
    fresh(monkeypatch, tmp_path / "file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert compiling.folder() == tmp_path / "cache" / "streamgauge"
    compiling.folder.cache_clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert compiling.folder() == tmp_path / "chosen"
    forget()
